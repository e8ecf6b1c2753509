"""How a backend treats each role: restarts, order of stopping, environment."""

import os
import sys
from collections.abc import Mapping

from backends import resources as resources_lib
from backends.process import env_vars
from backends.supervision import config as config_lib
from backends.supervision import launcher, output, restarts
from run_files import metric_names
from view import region

# Clients before what they talk to; evaluators after the learner, so that they
# see its last weights; the counter last, so that every count and every
# checkpoint of the others still finds it.
_STOP_ORDER = (
  ('actor',),
  ('learner',),
  ('evaluator',),
  ('replay', 'variable_server'),
  ('counter',),
)
_PRELOAD = ('programs.processes', 'reporting.loggers')
# N processes on a machine of few cores: each computes on one thread. JAX leaves
# the accelerators to the learner, TensorFlow never takes one.
_EVERY_ROLE = {
  'CUDA_VISIBLE_DEVICES': '',
  'JAX_PLATFORMS': 'cpu',
  'OMP_NUM_THREADS': '1',
  'TF_CPP_MIN_LOG_LEVEL': '2',
  'XLA_FLAGS': '--xla_cpu_multi_thread_eigen=false',
}
_LEARNER = ('CUDA_VISIBLE_DEVICES', 'JAX_PLATFORMS', 'XLA_FLAGS')
_COMPILED = 'JAX_COMPILATION_CACHE_DIR'


def run_config(
  log_dir: str,
  preload: tuple[str, ...] = (),
  resources: Mapping[str, resources_lib.Resources] | None = None,
):
  """Returns how the program of `distributed.make_program` runs, here or there.

  Args:
    log_dir: gets what each process prints, and the run's status.
    preload: modules, beside the program's own, that every process will need.
    resources: by role; of the others, the learner has what the launcher has.
  """
  given = resources or {}
  return config_lib.RunConfig(
    default_env={**_EVERY_ROLE, **_compilation_cache()},
    env={
      **{'learner': _as_launcher()},
      **{role: _env(own) for role, own in given.items()},
    },
    preload=[*_PRELOAD, *preload],
    restart={
      role: restarts.RestartPolicy() for stage in _STOP_ORDER for role in stage
    },
    stop_order=_STOP_ORDER,
    spare=('actor', 'evaluator'),
    log_dir=log_dir,
  )


def _as_launcher() -> dict[str, str | None]:
  return {name: os.environ.get(name) for name in _LEARNER}


def _env(own: resources_lib.Resources) -> dict[str, str | None]:
  threads = resources_lib.thread_env(own)
  if own.gpu:
    return {**_as_launcher(), **threads}
  return {'XLA_FLAGS': None, **threads} if own.cpu > 1 else dict(threads)


def _compilation_cache() -> dict[str, str]:
  """Has JAX keep what it compiles, for restarted processes and later runs.

  Compiling takes most of the time to a learner's first step, and every actor
  compiles the same policy. A folder for each kind of processor, since the
  machines which share a home may differ in what they can execute.
  """
  if _COMPILED in os.environ:
    return {}
  cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
  folder = f'jax-{env_vars.PROCESSOR}'
  return {
    _COMPILED: os.path.join(cache, 'launchpad_rl', folder),
    'JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS': '0',
    'JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES': '-1',
  }


class Printer(output.Printer):
  """Prints what the processes say, less Reverb's notes of where it serves.

  They are in the logs all the same. On a terminal, lines are cleaned of what
  would do more to it than colour them.

  Attributes:
    rows: whether it prints rows of metrics.
  """

  def __init__(
    self,
    rows: bool = True,
    coloured: bool | None = None,
    quiet: bool = False,
  ):
    """Prints to standard output.

    Args:
      rows: whether it prints rows of metrics at first.
      coloured: as in `output.Printer`.
      quiet: leave out that a run which has made its steps stops, too.
    """
    super().__init__(coloured=coloured)
    self.rows = rows
    self._spared = ('[reverb/cc/', *([launcher.STOP_CALLED] if quiet else []))

  def __call__(self, label: str, index: int, text: str) -> None:
    is_row = text.startswith(metric_names.row_prefix(label, index))
    if not text.startswith(self._spared) and (self.rows or not is_row):
      if sys.stdout.isatty():
        text = region.clean(text)
      super().__call__(label, index, text)
