"""The peer of two benchmarks: Acme's own `DistributedLayout`, with SAC.

The processes of this repository's own program must not import this file.
"""

import pathlib
import pickle

from compat import patches  # Patches JAX and TFP for Acme.

import launchpad as lp
from acme import specs
from acme.agents.jax import sac
from acme.jax.layouts import distributed_layout
from acme.utils.loggers import base
from launchpad.nodes.python import local_multi_processing

from benchmarks.support import sides, stamps
from programs.agents import sac as sac_lib

_ENDLESS = 10**9


def launch(num_actors: int, directory: str) -> None:
  """Runs the program until it is killed.

  Args:
    num_actors: the number of actor processes. There is also an evaluator.
    directory: a folder for a file that the workers need, and for a file with
      the replay server's address.
  """
  environment = stamps.make_actor_environment(0)
  spec = specs.make_environment_spec(environment)
  parts = sac_lib.make_parts(spec, sac_lib.Config())
  program = distributed_layout.DistributedLayout(
    seed=0,
    environment_factory=stamps.make_actor_environment,
    environment_spec=spec,
    network_factory=parts.network_factory,
    # Settings and networks are the same as with `launch.py --agent=sac`.
    builder=sac.SACBuilder(
      sac_lib.make_acme_config(spec, sac_lib.Config()), StampingLogger
    ),
    policy_network=parts.policy_factory,
    num_actors=num_actors,
    evaluator_factories=[
      distributed_layout.default_evaluator_factory(
        stamps.make_evaluator_environment,
        parts.network_factory,
        parts.eval_policy_factory,
      )
    ],
    max_number_of_steps=_ENDLESS,
  ).build()
  resources = _import_compat_first(f'{directory}/init.pkl')
  running = lp.launch(
    program,
    lp.LaunchType.LOCAL_MULTI_PROCESSING,
    terminal='current_terminal',
    local_resources=dict.fromkeys(program.groups, resources),
  )
  (address,) = program.groups['replay'][0].addresses
  path = pathlib.Path(directory, sides.REPLAY_ADDRESS)
  path.write_text(address.resolve())
  running.wait()


def _import_compat_first(path: str) -> local_multi_processing.PythonProcess:
  """Returns settings that make workers import `compat` before anything else.

  Args:
    path: the file to write. It contains a pickled function, which the workers
      call.
  """
  with open(path, 'wb') as f:
    pickle.dump(patches.apply, f)
  return local_multi_processing.PythonProcess(args={'init_file': path})


class StampingLogger(base.Logger):
  """Records the time of the learner's first log, which is after a step."""

  def __init__(self):
    self._first = True

  def write(self, data):
    if self._first:
      self._first = False
      base.to_numpy(data)  # Waits for the step, as a real logger does.
      stamps.stamp('learner')

  def close(self):
    pass
