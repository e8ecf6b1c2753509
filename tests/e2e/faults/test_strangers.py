"""Connects to each port of a run as a user who does not know its keys."""

import signal
import subprocess
import sys

import pytest

from tests.e2e import runs


@pytest.mark.long
def test_who_has_no_key_has_nothing_unpickled_anywhere(tmp_path):
  run = runs.Run(tmp_path / 'run')
  path = tmp_path / 'made'
  with run.launch('--num_actors=1', '--num_steps=1000000'):
    run.wait_until(lambda: run.count('actor_steps') >= 400, 'steps')
    addresses = {
      address for task in run.tasks().values() for address in task.addresses
    }
    # Replay, variable server, counter, learner, actor, evaluator.
    assert len(addresses) >= 6
    for address in addresses:
      strangers = [sys.executable, '-m', 'tests.rpc.strangers']
      subprocess.run(
        [*strangers, str(path), address], cwd=runs.ROOT, check=True, timeout=120
      )
    shown = subprocess.run(
      [sys.executable, 'launch.py', 'status', run.run_dir],
      cwd=runs.ROOT,
      capture_output=True,
      text=True,
      check=True,
    ).stdout
    assert 'silent' not in shown
    run.process.terminate()
    assert run.end() == 128 + signal.SIGTERM, run.output
  assert not path.exists()
  assert 'starts again' not in run.output
