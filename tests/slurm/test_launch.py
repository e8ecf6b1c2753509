"""`launch.py --backend=slurm` on a real Slurm of two nodes."""

import os
import signal

import pytest

from backends.slurm import job as slurm_job
from tests import helpers
from tests.slurm import jobs


@pytest.mark.long
def test_learns_over_two_nodes_and_a_killed_actor_is_restarted(tmp_path):
  job = jobs.Job(tmp_path / 'run')
  told = job.submit('--resources=learner:cpu=2', '--num_steps=4500')
  assert job.number in told
  job.wait_until(lambda: job.rows('actor_0'), 'actor step')
  os.kill(job.tasks()['actor/0'].pid, signal.SIGKILL)
  job.wait_until(lambda: job.rows('learner_0'), 'learner step')
  page = job.ask('status').stdout
  assert f'job {job.number} of Slurm: RUNNING' in page
  assert 'learner/0' in page
  assert job.end() == ('COMPLETED', '0:0'), job.output
  assert 'node1          learner/0\n' in job.output
  assert 'node2          replay/0, variable_server/0, counter/0' in job.output
  assert job.tasks()['actor/0'].restarts == 1
  assert job.count('actor_steps') >= 4500
  returns = job.column('evaluator_0', 'evaluator/episode_return')
  assert max(returns[-3:]) > returns[0] + 300
  assert (job.run_dir / 'policy').is_dir()
  helpers.assert_nothing_left(str(job.run_dir))


# `test_small_programs.py` requeues a smaller program, in less time.
@pytest.mark.long
def test_a_requeued_job_resumes_and_a_stopped_one_has_saved(tmp_path):
  job = jobs.Job(tmp_path / 'run')
  job.submit('--slurm=nodes=2', '--num_steps=1000000', '--checkpoint_every=1')
  job.wait_until(lambda: job.count('learner_steps') > 10, 'learner steps')
  second = job.train('--backend=slurm', '--resume', '--num_steps=1000000')
  assert second.returncode == 2
  assert f'as job {job.number} of Slurm: RUNNING' in second.stderr
  slurm_job.requeue(job.number)
  # Slurm counts a restart when it begins to end what ran.
  job.wait_until(
    lambda: job.restarts == 1 and job.state == 'RUNNING', 'restart'
  )
  before = job.count('learner_steps')
  rows = len(job.rows('learner_0'))
  job.wait_until(
    lambda: job.count('learner_steps') > before + 10, 'steps after the restart'
  )
  stopped = job.ask('stop')
  assert stopped.returncode == 0, stopped.stderr
  assert job.end()[0] == 'CANCELLED'
  assert 'received SIGTERM: stopping actor, then learner' in job.output
  states = {name: task.state for name, task in job.tasks().items()}
  assert set(states.values()) == {'stopped'}, job.output
  resumed = job.rows('learner_0')[rows:]
  assert float(resumed[0]['learner/steps']) >= before
  helpers.assert_nothing_left(str(job.run_dir))
  again = job.ask('stop')
  assert again.returncode == 2
  assert 'no run goes on' in again.stderr


def test_what_slurm_refuses_is_one_sentence_and_leaves_nothing(tmp_path):
  job = jobs.Job(tmp_path / 'run')
  refused = job.train('--backend=slurm', '--slurm=partition=none')
  assert refused.returncode == 2
  assert 'invalid partition specified: none' in refused.stderr
  assert not job.run_dir.exists()
