"""Tests of rows of bytes."""

import collections

import cloudpickle
import numpy as np
import pytest
import tree

from replay import rows
from tests.replay import servers

_Pair = collections.namedtuple('_Pair', ['left', 'right'])
_NEST = {
  'b': _Pair(np.arange(6, dtype=np.uint8).reshape(2, 3), np.float64(0.5)),
  'a': [np.array([True, False, True]), np.zeros((0, 4), np.int16)],
  'c': (),
  'd': np.complex64(1 + 2j),
}


def test_rows_are_unpacked_as_they_were_packed():
  layout = rows.RowLayout(_NEST)
  other = tree.map_structure(lambda leaf: np.zeros_like(leaf), _NEST)
  packed = np.stack([layout.pack(nest) for nest in (_NEST, other)])
  assert packed.shape == (2, layout.size)
  # As in a dataset, a list comes back as a tuple.
  expected = {**_NEST, 'a': (*_NEST['a'],)}, {**other, 'a': (*other['a'],)}
  servers.assert_same(layout.unpack(packed[0]), expected[0])
  servers.assert_same(
    layout.unpack(packed),
    tree.map_structure(lambda *leaves: np.stack(leaves), *expected),
  )


def test_a_layout_packs_in_another_process_as_well():
  layout = rows.RowLayout(_NEST)
  # Launchpad sends a builder to each process in this way.
  sent = cloudpickle.loads(cloudpickle.dumps(layout))
  np.testing.assert_array_equal(sent.pack(_NEST), layout.pack(_NEST))


def test_an_unpacked_array_is_a_view():
  layout = rows.RowLayout(_NEST)
  batch = np.zeros((3, layout.size), np.uint8)
  for leaf in tree.flatten(layout.unpack(batch)):
    assert np.shares_memory(leaf, batch) or not leaf.size


@pytest.mark.parametrize(
  ('change', 'words'),
  [
    ({'a': 1}, 'nest/a is 1, but its spec has 2 parts'),
    (
      {'b': _Pair(1, (2, 3))},
      'nest/b/left is int64[], but its spec says uint8',
    ),
    ({'d': None}, 'nest/d is object[]'),
    ({'e': 1}, 'its spec has the keys a, b, c, d'),
  ],
)
def test_a_misfit_is_an_error_that_names_the_place(change, words):
  with pytest.raises(rows.UnpackableError) as e:
    rows.RowLayout(_NEST, 'nest').pack({**_NEST, **change})
  assert words in str(e.value)


def test_a_dtype_without_a_fixed_size_cannot_be_packed():
  with pytest.raises(rows.UnpackableError, match='text is object'):
    rows.RowLayout(np.array('a', object), 'text')
