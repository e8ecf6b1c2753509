"""When its disk is full, a run says so and goes on."""

import os
import subprocess

import pytest

from tests import helpers
from tests.e2e import runs

_SMALL = '--config=min_replay_size=100,batch_size=16,hidden_layer_sizes=(16,)'


@pytest.fixture
def disk(tmp_path):
  """Yields the path of a disk of four megabytes, which only root may mount."""
  path = tmp_path / 'disk'
  path.mkdir()
  mount = ['mount', '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', str(path)]
  done = subprocess.run(mount, capture_output=True, text=True, check=False)
  if done.returncode:
    pytest.skip(f'no disk can be mounted here: {done.stderr.strip()}')
  yield path
  subprocess.run(['umount', '--lazy', path], check=True)


def _fill(path) -> None:
  with open(path, 'wb', buffering=0) as f:
    try:
      while True:
        f.write(bytes(512))
    except OSError:
      return


@pytest.mark.long
def test_a_disk_that_is_full_for_a_while_costs_nothing(disk, tmp_path):
  run = runs.Run(disk / 'run')
  run.output_path = tmp_path / 'output'
  saved = run.run_dir / 'checkpoints' / 'learner'
  with run.launch(
    '--num_steps=20000',
    '--checkpoint_every=1',
    '--num_actors=1',
    '--metrics=tensorboard,jsonl',
    _SMALL,
  ):
    run.wait_until(lambda: list(saved.glob('*.checkpoint')), 'checkpoint')
    _fill(disk / 'ballast')
    for what in ('the checkpoint', 'learner_0.csv', 'actor_0.csv'):
      run.wait_until(
        lambda what=what: any(
          what in line and 'cannot be written now' in line
          for line in run.output.splitlines()
        ),
        f'word of the {what}',
      )
    steps = run.count('actor_steps')
    os.unlink(disk / 'ballast')
    run.wait_until(lambda: run.count('actor_steps') > steps, 'steps')
    assert run.end() == 0, run.output
  output = run.output
  assert 'Traceback' not in output
  assert output.count('cannot be written now') <= 12, output
  assert 'again' in output and 'wall time' in output
  assert 'starts again' not in output
  assert run.count('actor_steps') >= 20000
  rows = run.column('actor_0', 'actor/steps')
  assert rows == sorted(rows) and rows[-1] >= 20000
  assert len(run.column('actor_0', 'actor/episode_return')) == rows[-1] // 200
  assert not list(saved.glob('.unfinished-*'))
  helpers.assert_nothing_left(str(run.run_dir), timeout=10)


@pytest.mark.long
def test_on_a_disk_that_stays_full_a_run_has_cause_summary_and_code(
  disk, tmp_path
):
  run = runs.Run(disk / 'run')
  run.output_path = tmp_path / 'output'
  with run.launch('--num_steps=1000000', '--num_actors=1', _SMALL):
    run.wait_to_learn()
    _fill(disk / 'ballast')
    run.wait_until(
      lambda: 'cannot be written now' in run.output, 'word of the disk'
    )
    run.process.terminate()
    assert run.end() == 143, run.output
  assert 'Traceback' not in run.output
  assert 'wall time' in run.output
