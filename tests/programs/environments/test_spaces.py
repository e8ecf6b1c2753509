"""Gymnasium's spaces become specs, and their values are converted both ways."""

import numpy as np
import pytest
import tree
from dm_env import specs
from gymnasium import spaces

from programs.environments import spaces as spaces_lib


@pytest.mark.parametrize(
  'space, expected',
  [
    (
      spaces.Box(-1.0, 2.0, (3,), np.float32),
      specs.BoundedArray((3,), np.float32, -1.0, 2.0),
    ),
    (
      spaces.Box(-np.inf, np.inf, (2, 2), np.float64),
      specs.Array((2, 2), np.float64),
    ),
    (
      spaces.Box(np.array([0, -np.inf]), np.inf, dtype=np.float64),
      specs.BoundedArray((2,), np.float64, [0, -np.inf], np.inf),
    ),
    (
      spaces.Box(0, 255, (4, 4, 3), np.uint8),
      specs.BoundedArray((4, 4, 3), np.uint8, 0, 255),
    ),
    (spaces.Box(-np.inf, np.inf, (2,), np.int64), specs.Array((2,), np.int64)),
    (spaces.Discrete(5), specs.DiscreteArray(5, np.int64)),
    (spaces.Discrete(5, start=-2), specs.DiscreteArray(5, np.int64)),
    (
      spaces.MultiDiscrete([2, 3], start=[0, 4]),
      specs.BoundedArray((2,), np.int64, [0, 4], [1, 6]),
    ),
    (spaces.MultiBinary((2, 3)), specs.BoundedArray((2, 3), np.int8, 0, 1)),
    (
      spaces.Dict(
        b=spaces.Discrete(2, start=1),
        a=spaces.Tuple(
          [spaces.MultiBinary(1), spaces.Dict(c=spaces.Box(0, 1))]
        ),
      ),
      {
        'b': specs.DiscreteArray(2, np.int64),
        'a': (
          specs.BoundedArray((1,), np.int8, 0, 1),
          {'c': specs.BoundedArray((1,), np.float32, 0, 1)},
        ),
      },
    ),
  ],
  ids=lambda value: type(value).__name__,
)
def test_a_space_becomes_a_spec_and_its_values_go_both_ways(space, expected):
  spec = spaces_lib.to_spec(space, 'x')
  tree.map_structure(
    lambda a, b: np.testing.assert_equal(a.replace(name=None), b),
    spec,
    expected,
  )
  space.seed(0)
  for _ in range(5):
    value = space.sample()
    arrays = spaces_lib.to_arrays(space, value)
    tree.map_structure(lambda s, array: s.validate(array), spec, arrays)
    back = spaces_lib.to_action(space, arrays)
    assert space.contains(back)
    tree.map_structure(
      np.testing.assert_array_equal,
      spaces_lib.to_arrays(space, back),
      arrays,
    )


def test_space_without_a_spec_is_named():
  space = spaces.Dict(a=spaces.Tuple([spaces.Discrete(2), spaces.Text(3)]))
  with pytest.raises(ValueError, match='observation/a/1: a Text space'):
    spaces_lib.to_spec(space, 'observation')
