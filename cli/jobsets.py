"""What `launch.py` does with runs on Kubernetes; each returns an exit code."""

import pathlib
import sys

from backends.kubernetes import jobset, manifests
from backends.kubernetes import options as kubernetes_options
from cli.settings import WrongUsage
from run_files import screen

_RUNNING = 'Running'


def show_status(run_dir: str | None, kubernetes: str) -> int:
  """Prints what the cluster says of a run, and what the run says itself.

  Args:
    run_dir: of the run, on the volume.
    kubernetes: the flag, of which namespace and context count.

  Raises:
    WrongUsage: there is no run, or the cluster does not say.
  """
  cluster, name, state = _find(run_dir, kubernetes, 'status')
  screen.show(f'JobSet {name}: {state}')
  try:
    pods = cluster.pods(name)
    for pod in sorted(pods):
      screen.show(f'  {pod:<50} {pods[pod]}')
    launcher = f'{name}-{manifests.LAUNCHER}-'
    if any(pod.startswith(launcher) and pods[pod] == _RUNNING for pod in pods):
      command = ['python', 'launch.py', '--status', f'--run_dir={run_dir}']
      screen.show(cluster.in_launcher(name, *command), end='')
  except jobset.KubernetesError as e:
    # A run that only begins has not begun to keep its status.
    screen.show(f'launch.py: {e}', file=sys.stderr)
  return 0


def stop(run_dir: str | None, kubernetes: str) -> int:
  """Stops a run, waits for its end, and removes its objects from the cluster.

  Args:
    run_dir: of the run, on the volume.
    kubernetes: the flag, of which namespace and context count.

  Raises:
    WrongUsage: there is no run, or the cluster does not say.
  """
  cluster, name, state = _find(run_dir, kubernetes, 'stop')
  screen.show(f'JobSet {name}: {state}; it is stopped and removed')
  try:
    if not state.is_finished:
      cluster.stop(name)
    cluster.remove(name)
  except jobset.KubernetesError as e:
    screen.show(f'launch.py: {e}', file=sys.stderr)
    return 1
  screen.show('stopped')
  return 0


def _find(
  run_dir: str | None, kubernetes: str, flag: str
) -> tuple[jobset.Cluster, str, jobset.State]:
  """Returns where a run is, its name there and what it does."""
  if not run_dir:
    raise WrongUsage(f'--{flag}: say of which run with --run_dir')
  try:
    options = kubernetes_options.parse(kubernetes)
  except ValueError as e:
    raise WrongUsage(f'--kubernetes: {e}') from e
  cluster = jobset.Cluster(options.run)
  name = manifests.name(pathlib.PurePosixPath(run_dir))
  try:
    state = cluster.state(name)
  except jobset.KubernetesError as e:
    raise WrongUsage(f'--{flag}: {e}') from e
  if state is None:
    raise WrongUsage(
      f'--{flag}: the cluster has no JobSet {name}, as that of the run in '
      f'{run_dir} is called; look at --run_dir, and at namespace and context '
      'in --kubernetes'
    )
  return cluster, name, state
