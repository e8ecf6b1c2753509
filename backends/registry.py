"""The list of backends, and the choice among them by the flags.

Only this module compares a backend's name.
"""

import dataclasses
import pkgutil
from collections.abc import Mapping

from backends import api
from backends import resources as resources_lib

# The class for each value of `--backend`. `--help` imports the module of each
# class too, so such a module imports packages like `ray` only inside functions.
_BACKENDS = {
  'local': 'backends.local.backend:LocalBackend',
  'slurm': 'backends.slurm.backend:SlurmBackend',
  'kubernetes': 'backends.kubernetes.backend:KubernetesBackend',
  'ray': 'backends.ray.backend:RayBackend',
}
# The same for each value of `--lp_launch_type` that Launchpad itself serves.
_LAUNCH_TYPES = {
  'local_mp': 'backends.stock.backend:StockBackend',
  'local_mt': 'backends.stock.backend:StockBackend',
  'test_mt': 'backends.stock.backend:StockBackend',
  'vertex_ai': 'backends.vertex.backend:VertexBackend',
}

DEFAULT = 'local'
# The launch type of programs that `--backend` runs, rather than Launchpad.
SUPERVISED = 'local'


@dataclasses.dataclass(frozen=True)
class Choice:
  """What the flags say about where a run's processes are.

  Attributes:
    backend: one of `names()`.
    launch_type: one of `launch_types()`.
    resources: the text of `--resources`.
    dry_run: whether to print what would be submitted, and submit nothing.
    own_flags: the values of the flags that only one backend takes, by the
      flag's name; a flag that is missing has its default.
  """

  backend: str = DEFAULT
  launch_type: str = SUPERVISED
  resources: str = ''
  dry_run: bool = False
  own_flags: Mapping[str, str | bool] = dataclasses.field(default_factory=dict)


def names() -> list[str]:
  """Returns the values of `--backend`."""
  return list(_BACKENDS)


def launch_types() -> list[str]:
  """Returns the values of `--lp_launch_type`."""
  return [SUPERVISED, *_LAUNCH_TYPES]


def flags() -> list[api.Flag]:
  """Returns all flags that only one backend takes."""
  # Several launch types have one class.
  classes = dict.fromkeys(_classes().values())
  return [flag for each in classes for flag in each.FLAGS]


def flags_of_volumes() -> list[api.Flag]:
  """Returns the flags of backends whose run directories are on a volume.

  The verbs need them to find such a run, since its directory is not readable
  here.
  """
  classes = dict.fromkeys(_classes().values())
  on_volumes = [each for each in classes if each.RUN_DIR_IS_ON_VOLUME]
  return [flag for each in on_volumes for flag in each.FLAGS]


def make(choice: Choice) -> api.Backend:
  """Returns the backend that runs or submits a program.

  Raises:
    RefusedError: a flag has a wrong value, or two flags exclude each other.
  """
  flag = _choosing_flag(choice)
  classes = _classes()
  _check_own_flags(choice, flag, classes)
  if choice.dry_run and not classes[flag].HAS_DRY_RUN:
    able = [other for other, each in classes.items() if each.HAS_DRY_RUN]
    raise api.RefusedError(f'--dry_run needs {" or ".join(able)}')
  try:
    resources = resources_lib.parse(choice.resources)
  except ValueError as e:
    raise api.RefusedError(f'--resources: {e}') from e
  return _construct(classes[flag], flag, resources, choice)


def candidates(choice: Choice) -> list[api.Backend]:
  """Returns the backends that may have started a run that has begun.

  Args:
    choice: what the flags say. If they name a backend, only that one is
      returned. A backend whose run directories are on a volume is returned only
      if they name it.

  Returns:
    The backends in the order in which to ask them for the run.

  Raises:
    RefusedError: a flag has a wrong value.
  """
  classes = _classes()
  if choice.backend != DEFAULT:
    asked = [f'--backend={choice.backend}']
  else:
    all_flags = [f'--backend={name}' for name in _BACKENDS]
    asked = [f for f in all_flags if not classes[f].RUN_DIR_IS_ON_VOLUME]
    # A scheduler's run also has a launcher's process, which backends without a
    # scheduler would find. So the scheduler's backend is asked first.
    asked.sort(key=lambda flag: not classes[flag].SUBMITS)
  return [_construct(classes[flag], flag, {}, choice) for flag in asked]


def is_in_pod() -> bool:
  """Returns whether this process runs in the pod of a run's launcher.

  A launcher in a pod does not lock the run directory, which is on a volume.
  """
  started = [each for each in _classes().values() if each.has_started_this()]
  return any(each.RUN_DIR_IS_ON_VOLUME for each in started)


def _classes() -> dict[str, type[api.Backend]]:
  """Returns the classes of all backends by the flags that choose them."""
  paths = {
    **{f'--backend={name}': path for name, path in _BACKENDS.items()},
    **{f'--lp_launch_type={t}': path for t, path in _LAUNCH_TYPES.items()},
  }
  return {flag: pkgutil.resolve_name(path) for flag, path in paths.items()}


def _choosing_flag(choice: Choice) -> str:
  """Returns the flag that chooses the backend, a key of `_classes()`.

  Raises:
    RefusedError: two flags choose different backends.
  """
  # A scheduler starts its launchers without `--backend`.
  for flag, each in _classes().items():
    if each.has_started_this():
      return flag
  backend = f'--backend={choice.backend}'
  if choice.launch_type == SUPERVISED:
    return backend
  launch_type = f'--lp_launch_type={choice.launch_type}'
  if choice.backend != DEFAULT:
    raise api.RefusedError(f'{backend} and {launch_type} exclude each other')
  return launch_type


def _check_own_flags(
  choice: Choice, chosen: str, classes: Mapping[str, type[api.Backend]]
) -> None:
  """Raises `RefusedError` if a flag is given that another backend takes."""
  for owner, each in classes.items():
    if each is not classes[chosen]:
      for flag in each.FLAGS:
        if choice.own_flags.get(flag.name, flag.default) != flag.default:
          raise api.RefusedError(
            f'--{flag.name} needs {owner}, and this run has {chosen}'
          )


def _construct(
  kind: type[api.Backend],
  chosen: str,
  resources: api.ResourcesByLabel,
  choice: Choice,
) -> api.Backend:
  """Returns a backend with the resources and the values of its flags."""
  own = {
    flag.name: choice.own_flags.get(flag.name, flag.default)
    for flag in kind.FLAGS
  }
  return kind(chosen.rpartition('=')[2], resources, **own)
