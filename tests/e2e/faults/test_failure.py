"""A run that cannot go on ends and says why."""

import pytest

from tests.e2e import runs

# `test_terminal` makes the same run on a terminal.
pytestmark = pytest.mark.long


def test_a_constructor_that_raises_ends_the_run(tmp_path):
  run = runs.Run(tmp_path / 'run')
  with run.launch(
    '--num_actors=1', '--env=module:tests.e2e.faults.broken:make'
  ):
    assert run.end() == 1
  *_, error, verdict = run.output.splitlines()
  assert error == 'OSError: the simulator has no licence'
  assert verdict == 'The run failed: actor/0 exited with code 1.'
  assert 'in make' in run.output
  assert run.left_over() == []
