"""Numbers that are not finite are found in every type, and named."""

import compat  # noqa: F401

import jax.numpy as jnp
import numpy as np
import pytest

from nodes.checks import finite
from run_files import metric_names


@pytest.mark.parametrize(
  'nest, expected',
  [
    (float('nan'), 'is nan'),
    (np.float32('inf'), 'is inf'),
    ({'w': np.array([[1.0, 2.0], [3.0, -np.inf]])}, "['w'][1][1] is -inf"),
    ([np.ones(2), np.array([np.nan] * 3)], '[1][0] is nan (and 2 more)'),
    ({'b': jnp.array([1, jnp.nan], jnp.bfloat16)}, "['b'][1] is nan"),
    (np.array(complex(0, np.inf)), 'is infj'),
  ],
)
def test_the_first_number_that_is_not_finite_is_named(nest, expected):
  assert finite.find(nest) == expected


@pytest.mark.parametrize(
  'nest',
  [
    None,
    (),
    'nan',
    2**80,
    {'count': np.int64(3), 'picture': np.zeros((2, 2), np.uint8)},
    np.array(['nan']),
    np.array([1e300, -1e-300]),
    [jnp.ones(3, jnp.bfloat16), True],
  ],
)
def test_everything_else_counts_as_finite(nest):
  assert finite.find(nest) is None


def test_only_the_first_find_is_an_error():
  watch = finite.Watch()
  with pytest.raises(finite.NonFiniteError, match='learner/0: w is nan'):
    watch.take('learner/0: w is nan')
  watch.take('learner/0: w is nan')
  assert watch.metrics() == {metric_names.LEFT_OUT: 2.0}
