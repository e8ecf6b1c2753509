"""The variable server's table has the shapes of what the learner publishes."""

import numpy as np
import pytest
from acme import specs

from programs import experiment, variable_tables


class _Learner:
  def __init__(self, values):
    self._values = values

  def get_variables(self, names):
    return [self._values for _ in names]


class _Builder:
  """A builder of the later form whose learner has the given variables."""

  def __init__(self, make_values):
    self._make_values = make_values

  def make_actor(self, environment_spec):
    raise NotImplementedError

  def make_learner(self, random_key, *args, **kwargs):
    return _Learner(self._make_values(random_key))


@pytest.mark.parametrize(
  'make_values',
  [
    lambda key: {'w': key[:1].astype(np.float32)},
    # This learner looks at a value, which does not exist under `eval_shape`.
    lambda key: {'w': np.full(1, float(key[0]), np.float32)},
  ],
  ids=['traced', 'looking'],
)
def test_the_shapes_of_any_learner_are_found(make_values):
  config = experiment.ExperimentConfig(
    builder=_Builder(make_values),
    network_factory=lambda spec: None,
    environment_factory=None,
    max_num_actor_steps=None,
    environment_spec=specs.EnvironmentSpec(None, None, None, None),
    variable_names=('policy',),
  )
  (table,) = variable_tables.make(config)
  assert table.info.max_size == 1
  assert 'w' in str(table.info.signature)
