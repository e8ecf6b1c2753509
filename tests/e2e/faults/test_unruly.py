"""Runs in environments that misbehave."""

import pytest

from policies import policy
from tests.e2e import runs

_ENV = '--env=module:tests.e2e.faults.unruly'
_SMALL = '--config=min_replay_size=100,batch_size=16'

pytestmark = pytest.mark.long


@pytest.fixture
def run(tmp_path, monkeypatch):
  monkeypatch.setenv('NOTES', str(tmp_path / 'notes'))
  return runs.Run(tmp_path / 'run')


def _assert_all_closed(run):
  notes = run.run_dir.with_name('notes').read_text().splitlines()
  made, closed = (
    sorted(n.split()[-1] for n in notes if n.startswith(what))
    for what in ('made', 'closed')
  )
  # The launcher, an actor and an evaluator made one each.
  assert made == closed
  assert len(set(made)) == 3


def test_a_limit_in_the_middle_of_an_episode_ends_the_run(run):
  flags = (
    '--num_actors=1',
    f'{_ENV}:endless',
    _SMALL,
  )
  with run.launch(*flags, '--num_steps=400'):
    assert run.end() == 0, run.output
  assert run.count('actor_steps') == 400
  assert run.column('actor_0', 'actor/steps')[-1] == 400
  assert 'actor steps    400' in run.output
  _assert_all_closed(run)


def test_a_reward_that_is_nan_ends_the_run_and_leaves_all_that_is_finite(run):
  flags = (
    '--num_actors=1',
    f'{_ENV}:one_nan',
    _SMALL,
  )
  with run.launch(*flags, '--num_steps=100000'):
    assert run.end() == 1, run.output
  *_, error, verdict = run.output.splitlines()
  assert 'its step 300, which is step 20 of its episode 15: the rew' in error
  assert verdict.endswith('exited with code 65.')
  assert all(task.restarts == 0 for task in run.tasks().values())
  assert 'wall time' in run.output
  # The policy is there: only finite parameters are written.
  policy.load(run.run_dir / 'policy')
  _assert_all_closed(run)
