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
  """Returns one table for the variables that the learner publishes.

  To find their shapes and dtypes it makes a learner that never steps: only a
  learner's `get_variables` tells what an agent publishes.
  """
  spec = experiment.get_environment_spec()

  def variables(random_key: jax.Array):
    learner = idle_learner(experiment, spec, random_key)
    return learner_lib.named_variables(learner, experiment.variable_names)

  random_key = seeding.process_key(experiment.seed, 'learner')
  try:
    # All other processes wait for this server, and it takes less time to find
    # the shapes than to compute the values.
    shapes = jax.eval_shape(variables, random_key)
  except Exception:  # Some learners look at the values when they are made.
    shapes = variables(random_key)
  return [container.variable_table(shapes)]


def idle_learner(
  experiment: experiment_lib.ExperimentConfig,
  spec: specs.EnvironmentSpec,
  random_key: jax.Array,
) -> core.Learner:
  """Returns a learner without data, which is only asked for its variables.

  Args:
    experiment: the experiment; its builder and networks make the learner.
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
