"""A video has the environment's pictures, in their size and at their speed."""

import sys

import dm_env
import imageio
import numpy as np
import pytest

from policies import video
from programs import environments
from programs.environments import errors, pictures


def _play(path, env, num_steps):
  environment = environments.make_environment_factory(env)(0)
  with video.recording(path) as add:
    environment.reset()
    add(environment)
    for _ in range(num_steps):
      environment.step(np.zeros(environment.action_spec().shape, np.float32))
      add(environment)
  last = pictures.picture(environment)
  environment.close()
  return last


def test_a_video_has_each_picture_in_its_size_and_at_its_speed(tmp_path):
  path = tmp_path / 'out.mp4'
  last = _play(path, 'gym:Pendulum-v1', 20)
  assert last.shape == (500, 500, 3)
  with imageio.get_reader(path) as reader:
    frames = list(iter(reader))
    assert reader.get_meta_data()['fps'] == 30
  assert len(frames) == 20 + 1
  assert frames[-1].shape == last.shape
  first, seen = frames[0].astype(float), frames[-1].astype(float)
  # The pendulum's fall changes a picture more than compression does.
  assert np.abs(seen - last).mean() < np.abs(first - last).mean() / 2


@pytest.mark.parametrize(
  'name, env, expected',
  [
    ('out.avi', 'gym:Pendulum-v1', 'end it in .mp4'),
    ('missing/out.mp4', 'gym:Pendulum-v1', 'there is no folder'),
    ('out.mp4', 'bsuite:catch/0', 'no video of bsuite:catch/0'),
  ],
)
def test_a_video_that_cannot_be_made_is_refused(tmp_path, name, env, expected):
  with pytest.raises(ValueError, match=expected):
    video.check(tmp_path / name, env, 0)
  assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_refused_with_the_way_to_get_it(
  tmp_path, monkeypatch
):
  monkeypatch.setitem(sys.modules, 'imageio_ffmpeg', None)
  with pytest.raises(ValueError, match=r"pip install -e '\.\[video\]'"):
    video.check(tmp_path / 'out.mp4', 'gym:Pendulum-v1', 0)


def test_an_environment_that_draws_nothing_is_refused():
  class Blind(dm_env.Environment):
    def reset(self): ...
    def step(self, action): ...
    def observation_spec(self): ...
    def action_spec(self): ...
    def render(self):
      return None

  with pytest.raises(errors.CannotRenderError, match='uint8'):
    pictures.picture(Blind())
