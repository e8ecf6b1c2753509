"""A run with servers and learner on one host, all else on another."""

import contextlib
import itertools
import json
import subprocess
import sys
import time

import pytest

from benchmarks.support import network
from tests.e2e import runs

_CUT_SECONDS = 20.0
_STEPS = 4000


@pytest.fixture(scope='module', autouse=True)
def namespaces():
  reason = network.missing()
  if reason:
    pytest.skip(reason)


class Across(runs.Run):
  """A run over two hosts."""

  @contextlib.contextmanager
  def launch(self, net: network.Network, *flags):
    across = [sys.executable, '-m', 'tests.namespaces.across']
    arguments = [str(self.run_dir), json.dumps(net.command('b', [])), *flags]
    with (
      open(self.output_path, 'w') as output,
      subprocess.Popen(
        net.command('a', [*across, *arguments]),
        cwd=runs.ROOT,
        stdout=output,
        stderr=subprocess.STDOUT,
      ) as self.process,
    ):
      try:
        yield self.process
      finally:
        self.process.kill()

  def steps(self) -> float:
    """Returns the steps of both actors, as the counter last told either."""
    rows = [self.column(f'actor_{i}', 'actor/steps') for i in range(2)]
    return max(itertools.chain(*rows), default=0)


@pytest.mark.long
def test_each_version_crosses_once_and_the_run_outlives_a_cut_cable(tmp_path):
  run = Across(tmp_path / 'run')
  # Enough for the last episodes, which the end may cut short and whose reads
  # are then in no row, to count little.
  flags = ('--num_actors=2', f'--num_steps={_STEPS}', '--stuck_after=300')
  with network.connected() as net, run.launch(net, *flags):
    run.wait_until(lambda: run.steps() >= 600, 'steps')
    net.set_link('down')
    before = run.steps()
    time.sleep(_CUT_SECONDS)
    # What was under way may end, but no more.
    assert run.steps() <= before + 400
    net.set_link('up')
    assert run.end() == 0, run.output
  assert run.steps() >= _STEPS
  assert 'starts again' not in run.output

  pushed = run.column('learner_0', 'weights/push_bytes')[-1]
  pushes = run.column('learner_0', 'weights/pushes')[-1]
  readers = ('actor_0', 'actor_1', 'evaluator_0')
  came = sum(run.column(r, 'weights/wire_bytes_received')[-1] for r in readers)
  read = sum(run.column(r, 'weights/pulls')[-1] for r in readers)
  # Both actors read nearly every version, and the host has it once.
  assert came <= 1.05 * pushed
  assert came < 0.7 * read * pushed / pushes


# A minute until the silence counts.
@pytest.mark.long
def test_a_cable_that_stays_cut_ends_the_run_on_both_hosts(tmp_path):
  run = Across(tmp_path / 'run')
  with (
    network.connected() as net,
    run.launch(net, '--num_actors=1', '--num_steps=1000000'),
  ):
    run.wait_until(lambda: run.steps() >= 400, 'steps')
    net.set_link('down')
    # Its end waits for the daemon on `b`, which ends by itself.
    assert run.end() == 1, run.output
    assert not net.pids('b')
  assert run.output.endswith(
    'b is lost: its daemon is gone.\nThe run failed: b failed.\n'
  )
