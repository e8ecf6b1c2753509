"""A run as a JobSet of a Kubernetes cluster.

This machine submits the JobSet. It never sees the run directory, which is on a
volume of the cluster. In the cluster, one pod runs the launcher, and one pod
for each task runs a daemon, which connects to the launcher.
"""

import contextlib
import pathlib
import secrets
import shlex
import shutil

from backends import api
from backends import resources as resources_lib
from backends.kubernetes import jobset, manifests
from backends.kubernetes import options as options_lib

_RUNNING = 'Running'


class KubernetesBackend(api.Backend):
  """Submits a JobSet; inside its launcher's pod, launches the program."""

  FLAGS = (
    api.Flag(
      'kubernetes',
      '',
      "The run's image, its volume, and other options of the run or a role's "
      'pods, as in image=rl:1,volume=CLAIM:/runs;replay:memory=16Gi; '
      'docs/backends/kubernetes.md lists the options.',
    ),
  )
  SUBMITS = True
  HAS_DRY_RUN = True
  RUN_DIR_IS_ON_VOLUME = True

  def __init__(
    self, name: str, resources: api.ResourcesByLabel, kubernetes: str = ''
  ):
    self.name = name
    self.resources = resources
    try:
      self._options = options_lib.parse(kubernetes)
    except ValueError as e:
      raise api.RefusedError(f'--kubernetes: {e}') from e
    self._cluster = jobset.Cluster(self._options.run)

  @classmethod
  def has_started_this(cls):
    return manifests.in_launcher()

  def check(self, run_dir, dry_run):
    if manifests.in_launcher():
      return
    try:
      self._options.check_complete()
    except ValueError as e:
      raise api.RefusedError(f'--kubernetes: {e}') from e
    if not dry_run and shutil.which('kubectl') is None:
      raise api.RefusedError(
        '--backend=kubernetes: this machine has no kubectl; install it, or '
        'print what would be submitted with --dry_run'
      )
    mount_path = self._options.mount_path
    if mount_path not in run_dir.parents or '..' in run_dir.parts:
      raise api.RefusedError(
        f'--run_dir: {run_dir} is not on the volume; name a directory in '
        f'{mount_path}, such as --run_dir={mount_path}/one'
      )

  def run(self, make_program, *, config, on_line, resize=None):
    from backends.cluster import joining

    del resize  # The number of pods is fixed.
    return joining.run(make_program, config=config, on_line=on_line)

  def describe(self, submission):
    roles = [*submission.groups, manifests.LAUNCHER]
    try:
      resources_lib.check_roles(self._options.pods, roles)
    except ValueError as e:
      raise api.RefusedError(f'--kubernetes: {e}') from e
    try:
      return manifests.render(
        manifests.name(submission.run_dir),
        submission.groups,
        self.resources,
        self._options,
        submission.flags,
        secrets.token_hex(),
      )
    except ValueError as e:
      raise api.RefusedError(f'--backend=kubernetes: {e}') from e

  def submit(self, submission):
    run_dir = submission.run_dir
    name = manifests.name(run_dir)
    try:
      self._create(name, self.describe(submission), run_dir)
    except jobset.KubernetesError as e:
      raise api.RefusedError(f'--backend=kubernetes: {e}') from e
    pod = f'job/{name}-{manifests.LAUNCHER}-0'
    logs = ['kubectl', *self._cluster.flags, 'logs', '--follow', pod]
    return api.Submitted(
      f'on the volume {self._options.claim}',
      (('JobSet', name), ('its output', shlex.join(logs))),
      flags=('--backend=kubernetes', *self._finding_flags()),
    )

  def _create(self, name: str, text: str, run_dir: pathlib.Path) -> None:
    state = self._cluster.state(name)
    if state is not None and not state.is_finished:
      raise api.RefusedError(
        f'--run_dir: the run in {run_dir} is JobSet {name}, {state}; stop it '
        'first, with the verb stop'
      )
    # Objects of an earlier run in this directory may be left.
    self._cluster.remove(name)
    try:
      self._cluster.create(text)
    except jobset.KubernetesError as e:
      # If they already exist, another command has just submitted the same run,
      # and the objects belong to that one.
      if 'AlreadyExists' not in str(e):
        with contextlib.suppress(jobset.KubernetesError):
          self._cluster.remove(name)
      raise

  def _finding_flags(self) -> list[str]:
    """Returns the flag by which the verbs find a run, if they need one."""
    items = [
      f'{name}={self._options.run[name]}'
      for name in ('namespace', 'context')
      if name in self._options.run
    ]
    return [f'--kubernetes={",".join(items)}'] if items else []

  def state(self, run_dir):
    name, state = self._find(run_dir)
    return f'JobSet {name}: {state}'

  def status(self, run_dir):
    name, state = self._find(run_dir)
    lines = [f'JobSet {name}: {state}']
    try:
      pods = self._cluster.pods(name)
      lines += [f'  {pod:<50} {pods[pod]}' for pod in sorted(pods)]
      launcher = f'{name}-{manifests.LAUNCHER}-'
      if any(
        pod.startswith(launcher) and pods[pod] == _RUNNING for pod in pods
      ):
        command = ['python', 'launch.py', 'status', str(run_dir)]
        lines.append(self._cluster.in_launcher(name, *command).rstrip('\n'))
    except jobset.KubernetesError as e:
      # A run that has just begun has no status file yet.
      lines.append(f'launch.py: {e}')
    return '\n'.join(lines)

  def stop(self, run_dir):
    """Stops a run, and removes its objects from the cluster."""
    name, state = self._find(run_dir)
    if not state.is_finished:
      self._cluster.stop(name)
    self._cluster.remove(name)

  def _find(self, run_dir: pathlib.Path) -> tuple[str, jobset.State]:
    """Returns the name of a run's JobSet, and its state."""
    name = manifests.name(run_dir)
    try:
      state = self._cluster.state(name)
    except jobset.KubernetesError as e:
      raise api.RefusedError(str(e)) from e
    if state is None:
      raise api.RefusedError(
        f'the cluster has no JobSet {name}, which would be the run in '
        f'{run_dir}; check the directory, and namespace and context in '
        '--kubernetes'
      )
    return name, state
