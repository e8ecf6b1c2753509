"""Names of no environment are refused in one sentence."""

import pytest

from programs import environments
from programs.environments import errors


@pytest.mark.parametrize(
  'name, sentence',
  [
    ('CartPole-v1', r"^'CartPole-v1' is not .* write gym:ID"),
    ('gim:CartPole-v1', 'write gym:ID'),
    ('gym:', 'write gym:ID'),
    ('gym:NoSuch-v0', '^gym:NoSuch-v0 is not .* nearest: gym:'),
    ('gym:Pendulum-v7', 'nearest: gym:Pendulum-v1'),
    ('gym:no_such_package:Id-v0', 'no_such_package cannot be imported'),
    ('dm_control:cartpole:swing', 'nearest: dm_control:cartpole:swingup'),
    ('bsuite:cacth/0', 'nearest: bsuite:catch/0'),
    ('module:no_such_package:f', 'no_such_package cannot be imported'),
    ('module:json', 'write module:PACKAGE.MODULE:FACTORY'),
    ('module:json:lods', 'nearest: module:json:loads'),
  ],
)
def test_unknown_name_is_one_sentence(name, sentence):
  with pytest.raises(errors.UnknownEnvironmentError, match=sentence) as caught:
    environments.check_environment(name)
  assert '\n' not in str(caught.value)
  with pytest.raises(errors.UnknownEnvironmentError):
    environments.make_environment_factory(name)(0)


@pytest.mark.parametrize(
  'name, module, extra',
  [
    ('gym:ALE/Pong-v5', 'cv2', 'atari'),
    ('gym:LunarLander-v3', 'Box2D', 'box2d'),
    ('gym:Ant-v5', 'mujoco', 'mujoco'),
    ('dm_control:cartpole:swingup', 'dm_control', 'dm_control'),
    ('bsuite:catch/0', 'bsuite', 'bsuite'),
  ],
)
def test_missing_extra_comes_with_its_command(monkeypatch, name, module, extra):
  find_spec = errors.importlib.util.find_spec
  monkeypatch.setattr(
    errors.importlib.util,
    'find_spec',
    lambda n: None if n == module else find_spec(n),
  )
  with pytest.raises(errors.UnknownEnvironmentError) as caught:
    environments.check_environment(name)
  assert f'{name} needs {module}, which' in str(caught.value)
  assert f"pip install -e '.[{extra}]'" in str(caught.value)
