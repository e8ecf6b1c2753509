"""How a backend treats each role: restarts, order of stopping, environment."""

import os

from backends import local, output

# Clients before what they talk to; the counter last, so that every count and
# every checkpoint of the others still finds it.
_STOP_ORDER = (
  ('actor', 'evaluator'),
  ('learner',),
  ('replay', 'variable_server'),
  ('counter',),
)
_PRELOAD = ('programs.processes', 'programs.environments')
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


def local_config(log_dir: str, preload: tuple[str, ...] = ()):
  """Returns how the program of `distributed.make_program` runs locally.

  Args:
    log_dir: gets what each process prints, and the run's status.
    preload: modules, beside the program's own, that every process will need.
  """
  return local.LocalConfig(
    default_env=_EVERY_ROLE,
    env={'learner': {name: os.environ.get(name) for name in _LEARNER}},
    preload=[*_PRELOAD, *preload],
    restart={
      role: local.RestartPolicy() for stage in _STOP_ORDER for role in stage
    },
    stop_order=_STOP_ORDER,
    log_dir=log_dir,
  )


class Printer(output.Printer):
  """Prints what the processes say, less Reverb's notes of where it serves.

  They are in the logs all the same.
  """

  def __call__(self, label: str, index: int, text: str) -> None:
    if not text.startswith('[reverb/cc/'):
      super().__call__(label, index, text)
