"""The variable server's table, which holds the newest weights."""

from collections.abc import Sequence

import compat  # noqa: F401

import jax
import reverb
from acme import core, specs
from acme.utils import counting, loggers

import container
from nodes import learner as learner_lib
from nodes import worker
from programs import experiment as experiment_lib
from programs import seeding


@worker.exits_fail()
def make(
  experiment: experiment_lib.ExperimentConfig,
) -> Sequence[reverb.Table]:
  """Returns one table, shaped like what the learner publishes.

  Makes a learner that never steps, since only `get_variables` tells what an
  agent publishes under which name.
  """
  spec = experiment.get_environment_spec()

  def variables(random_key: jax.Array):
    learner = idle_learner(experiment, spec, random_key)
    return learner_lib.named_variables(learner, experiment.variable_names)

  random_key = seeding.process_key(experiment.seed, 'learner')
  try:
    # All others wait for this server, and shapes are found sooner than values.
    shapes = jax.eval_shape(variables, random_key)
  except Exception:  # A learner that looks at its values must have them.
    shapes = variables(random_key)
  return [container.variable_table(shapes)]


def idle_learner(
  experiment: experiment_lib.ExperimentConfig,
  spec: specs.EnvironmentSpec,
  random_key: jax.Array,
) -> core.Learner:
  """Returns a learner with no data, for its variables alone.

  Args:
    experiment: has the builder and the networks.
    spec: the environment's spec.
    random_key: uint32[2], from which the parameters are drawn.
  """
  return experiment.get_builder().make_learner(
    random_key,
    experiment.network_factory(spec),
    iter(()),
    lambda *args, **kwargs: loggers.NoOpLogger(),
    spec,
    counter=counting.Counter(),
  )
