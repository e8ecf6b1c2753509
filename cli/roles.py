"""How each role's tasks run: restarts, order of stopping, cores, accelerators.

A role is a label of the program, such as `actor`. Its tasks all do the same.
"""

import os
from collections.abc import Mapping

from backends import resources as resources_lib
from backends.process import env_vars
from backends.supervision import config as config_lib
from backends.supervision import restarts

# Clients stop before their servers. Evaluators stop after the learner, so that
# they see its last weights, and the counter stops last, so that every count and
# every checkpoint of the others still reaches it.
_STOP_ORDER = (
  ('actor',),
  ('learner',),
  ('evaluator',),
  ('replay', 'variable_server'),
  ('counter',),
)
_PRELOAD = ('programs.processes', 'reporting.loggers')
# There are more processes than cores, so each computes on one thread: JAX then
# needs half the CPU time for a small policy, since no thread wakes another. JAX
# leaves the accelerators to the learner, and TensorFlow never takes one.
_EVERY_ROLE = {
  'CUDA_VISIBLE_DEVICES': '',
  'JAX_PLATFORMS': 'cpu',
  'NPROC': '1',  # The number of JAX's threads.
  'OMP_NUM_THREADS': '1',
  'TF_CPP_MIN_LOG_LEVEL': '2',
  'XLA_FLAGS': '',
}
_LEARNER = ('CUDA_VISIBLE_DEVICES', 'JAX_PLATFORMS', 'XLA_FLAGS')
_COMPILED = 'JAX_COMPILATION_CACHE_DIR'


def run_config(
  log_dir: str,
  preload: tuple[str, ...] = (),
  resources: Mapping[str, resources_lib.Resources] | None = None,
) -> config_lib.RunConfig:
  """Returns the settings of a run of `distributed.make_program`.

  They are the same on every backend.

  Args:
    log_dir: the folder for each task's output and for the run's status.
    preload: the modules that every task needs besides the program's own.
    resources: the resources of each task by role. Tasks of a missing role
      compute on one core each. A missing learner gets the accelerators that
      the launcher has, and half the cores.
  """
  return config_lib.RunConfig(
    default_env={**_EVERY_ROLE, **_compilation_cache()},
    env={
      **{'learner': _learner_env()},
      **{role: _env(own) for role, own in (resources or {}).items()},
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
  """Returns the launcher's variables that say which accelerators JAX takes."""
  return {name: os.environ.get(name) for name in _LEARNER}


def _learner_env() -> dict[str, str | None]:
  """Returns the environment variables of a learner without own resources."""
  # The other half is for the actors.
  threads = os.environ.get('NPROC', env_vars.HALF_THE_CORES)
  return {**_as_launcher(), 'NPROC': threads}


def _env(own: resources_lib.Resources) -> dict[str, str | None]:
  """Returns the environment variables of tasks that have these resources."""
  threads = resources_lib.thread_env(own)
  if own.gpu:
    return {**_as_launcher(), **threads}
  return dict(threads)


def _compilation_cache() -> dict[str, str]:
  """Returns the environment variables that turn on JAX's compilation cache.

  Compiling takes most of the time to a learner's first step, and every actor
  compiles the same policy. Each kind of processor has its own folder, since
  machines that share a home may differ in the instructions that they execute.
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
