"""`launch.py --backend=ray` on a real Ray cluster whose nodes come and go."""

import os
import signal
import subprocess
import sys

import pytest

from tests import helpers
from tests.e2e import runs
from tests.ray_cluster import jobs


def _scale(run, count):
  return subprocess.run(
    [
      *(sys.executable, 'launch.py', 'scale', run.run_dir, f'actor:{count}'),
    ],
    cwd=runs.ROOT,
    capture_output=True,
    text=True,
    timeout=200,
  )


@pytest.mark.long
@pytest.mark.timeout(900)
def test_learns_while_actors_and_nodes_come_and_go(cluster, tmp_path):
  run = jobs.Run(tmp_path / 'run', cluster)
  cluster.add_node(num_cpus=7)
  with run.launch('--num_steps=1000000'):
    run.wait_until(lambda: run.are_running('actor', 2), 'actors')
    second = cluster.add_node(num_cpus=2)
    # The first node has no room left, so the new actors go to the second.
    scaled = _scale(run, 4)
    assert scaled.returncode == 0, scaled.stderr
    run.wait_until(lambda: run.are_running('actor', 4), 'more actors')
    run.wait_until(lambda: run.rows('actor_3'), 'steps of theirs')
    os.kill(run.tasks()['actor/0'].pid, signal.SIGKILL)
    cluster.remove_node(second)
    run.wait_until(lambda: run.states().get('actor/3') == 'lost', 'loss')
    before = run.count('actor_steps')
    run.wait_until(
      lambda: run.count('actor_steps') > before + 400, 'steps without them'
    )
    cluster.add_node(num_cpus=2)
    run.wait_until(lambda: run.are_running('actor', 4), 'all actors again')
    assert _scale(run, 2).returncode == 0
    run.wait_until(lambda: run.are_running('actor', 2), 'fewer actors')

    def has_learned():
      returns = run.column('evaluator_0', 'evaluator/episode_return')
      return max(returns[-3:]) > returns[0] + 300

    run.wait_until(has_learned, 'a better return', 400)
    run.process.terminate()
    assert run.end() == 128 + signal.SIGTERM, run.output
  assert set(run.tasks()) >= {'actor/0', 'actor/1', 'learner/0'}
  assert 'actor/3' not in run.tasks()
  assert run.tasks()['actor/0'].restarts == 1
  assert run.tasks()['learner/0'].restarts == 0
  helpers.assert_nothing_left(str(run.run_dir))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_servers_of_a_lost_node_are_found_again_and_a_stopped_run_resumes(
  cluster, tmp_path
):
  run = jobs.Run(tmp_path / 'run', cluster)
  first = cluster.add_node(num_cpus=6)
  flags = ('--num_actors=1', '--checkpoint_every=1')
  with run.launch(*flags, '--num_steps=1000000'):
    run.wait_to_learn()
    cluster.add_node(num_cpus=6)
    before = run.count('learner_steps')
    cluster.remove_node(first)
    run.wait_until(
      lambda: run.count('learner_steps') > before + 10, 'steps elsewhere', 300
    )
    run.process.terminate()
    assert run.end() == 128 + signal.SIGTERM
  before = run.count('learner_steps')
  with run.launch('--resume', f'--num_steps={run.count("actor_steps") + 1500}'):
    assert run.end(300) == 0, run.output
  assert run.count('learner_steps') > before
  helpers.assert_nothing_left(str(run.run_dir))
