"""Runs a Launchpad program as supervised processes of a Slurm job's nodes.

The job's script runs this on the job's first node:

result = allocation.run(make_program, config=RunConfig(preload=['jax']))
sys.exit(result.exit_code)

`srun` starts one daemon on each node. So Slurm binds the daemon to the job's
resources on the node, accounts for it, and ends it with the job. When Slurm
restarts the job, the program has to go on from its checkpoints.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

import launchpad as lp

from backends.cluster import hosts, node_client
from backends.process import bootstrap
from backends.slurm import job as slurm_job
from backends.slurm import script
from backends.supervision import config as config_lib
from backends.supervision import output
from backends.supervision import result as result_lib
from system import stops

# A shell command that ignores SIGTERM until shortly after the launcher's end.
_HOLD = 'trap "" TERM; cat > /dev/null; sleep 3'
# The processes of `_hold`. Their pipes stay open as long as this process lives.
_holds: list[subprocess.Popen] = []
# After this many restarts, a job that loses a node again ends.
_MAX_REQUEUES = 10
_REPEATED = re.compile(r'(\d+)(?:\(x(\d+)\))?')


def run(
  program: lp.Program | Callable[[], lp.Program],
  *,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None = None,
) -> result_lib.Result:
  """Runs a program like `this_machine.run`, on all nodes of this job.

  When Slurm warns that the job's time is up, and when a node is lost, the
  program stops and the job goes back into Slurm's queue.

  Args:
    program: as for `this_machine.run`.
    config: the run's settings; `log_dir` is on storage that all nodes share.
    on_line: as for `this_machine.run`.

  Returns:
    How the run ended. After Slurm's warning, the exit code is 138.

  Raises:
    RuntimeError: the job differs from its plan.
    SlurmError: Slurm does not answer.
  """
  job = os.environ['SLURM_JOB_ID']
  directory = os.path.join(config.log_dir, f'.slurm-{job}')
  # If an earlier start of this job was killed, its folder is still there.
  shutil.rmtree(directory, ignore_errors=True)
  with hosts.own_folder(directory):
    result, lost = _run(program, config, on_line, directory)
  restarts = int(os.environ.get('SLURM_RESTART_COUNT', '0'))
  out_of_time = result.exit_code == 128 + signal.SIGUSR1
  if out_of_time or (lost and restarts < _MAX_REQUEUES):
    _requeue(job)
  return result


def _run(
  program: lp.Program | Callable[[], lp.Program],
  config: config_lib.RunConfig,
  on_line: output.OnLine | None,
  directory: str,
) -> tuple[result_lib.Result, bool]:
  """Returns how the run ended, and whether a node was lost."""
  parts = script.load_plan(os.environ[script.PLAN])
  nodes = _nodes(parts, directory)
  for node in nodes:
    tasks = script.summary(list(node.tasks))
    print(f'{node.name:<14} {tasks}', flush=True)
  _hold(len(parts))
  return hosts.run(
    program,
    nodes,
    directory,
    config=config,
    on_line=on_line,
    signals=(*stops.SIGNALS, signal.SIGUSR1),
  )


def _nodes(
  parts: Sequence[script.Component], directory: str
) -> list[node_client.Node]:
  """Returns the nodes on which Slurm has placed the tasks.

  Args:
    parts: the job's components.
    directory: the folder of this run that all nodes share.
  """
  result = []
  for group, part in enumerate(parts):
    suffix = f'_HET_GROUP_{group}' if len(parts) > 1 else ''
    names = slurm_job.node_names(_variable('SLURM_JOB_NODELIST', suffix))
    counts = repeated(_variable('SLURM_TASKS_PER_NODE', suffix))
    if len(names) != len(counts) or sum(counts) != len(part.tasks):
      raise RuntimeError(
        f'The job has room for {sum(counts)} tasks on {len(names)} nodes where '
        f'its plan has {len(part.tasks)}; submit it again.'
      )
    tasks = iter(part.tasks)
    for name, count in zip(names, counts, strict=True):
      own = {next(tasks): part.resources.gpu for _ in range(count)}
      result.append(
        node_client.started(
          name,
          slurm_job.node_address(name),
          own,
          _srun(part, group if suffix else None, name, count)
          + bootstrap.command('backends.cluster.node_daemon', directory),
        )
      )
  return result


def repeated(text: str) -> list[int]:
  """Returns the numbers in a list of Slurm's: `4(x2),1` is 4, 4 and 1."""
  return [
    int(match[1])
    for match in _REPEATED.finditer(text)
    for _ in range(int(match[2] or 1))
  ]


def _srun(
  part: script.Component, group: int | None, node: str, count: int
) -> list[str]:
  command = ['srun', '--nodes=1', '--ntasks=1', f'--nodelist={node}']
  command += ['--unbuffered', f'--cpus-per-task={count * part.resources.cpu}']
  if group is not None:
    command.append(f'--het-group={group}')
  if part.resources.gpu:
    command.append(f'--gres=gpu:{count * part.resources.gpu}')
  return command


def _hold(num_parts: int) -> None:
  """Keeps the later parts of a heterogeneous job from ending before the first.

  When the script of a job that is being requeued ends, Slurm (22.05) cancels
  the parts that are back in the queue already, and the job never starts.
  """
  for group in range(1, num_parts):
    command = ['srun', f'--het-group={group}', '--overlap', '--gres=none']
    command += ['--nodes=1', '--ntasks=1', '--cpus-per-task=1']
    _holds.append(
      subprocess.Popen(
        [*command, 'sh', '-c', _HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
      )
    )


def _variable(name: str, suffix: str) -> str:
  try:
    return os.environ[name + suffix]
  except KeyError:
    raise RuntimeError(
      f'{name + suffix} is not set: this command runs only in a job of Slurm; '
      'submit one with launch.py --backend=slurm.'
    ) from None


def _requeue(job: str) -> None:
  try:
    slurm_job.requeue(job)
    print(f'Job {job} is in the queue again, and will resume.', flush=True)
  except slurm_job.SlurmError as e:
    print(f'Job {job} does not start again: {e}', file=sys.stderr, flush=True)
