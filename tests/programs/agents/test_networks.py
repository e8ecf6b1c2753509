"""The convolutions get images in [0, 1], with the channels on the last axis."""

import compat  # noqa: F401

import numpy as np
import pytest
from acme import specs

from programs.agents.shared import networks, spaces


@pytest.mark.parametrize(
  'dtype, low, high',
  [
    (np.uint8, 0, 255),
    (np.float32, 0, 1),
    (np.float32, -1, 1),
    (np.float32, -0.5, 7),
    (np.uint8, 0, 15),
    (np.int32, 0, 65535),
  ],
)
def test_images_of_any_range_are_scaled_alike(dtype, low, high):
  levels = np.random.default_rng(0).integers(0, 16, (2, 6, 5, 3))
  spec = specs.BoundedArray((6, 5, 3), dtype, low, high)
  images = (low + levels / 15 * (high - low)).astype(dtype)
  found = networks.pixels(spec, images)
  np.testing.assert_allclose(found, levels / 15, 1e-5, 1e-5)


def test_each_channel_has_a_range_of_its_own():
  spec = specs.BoundedArray((6, 6, 2), np.float32, [0, -2], [1, 2])
  images = np.broadcast_to(np.float32([0.5, 1]), (1, 6, 6, 2))
  found = networks.pixels(spec, images)
  np.testing.assert_allclose(found[0, 0, 0], [0.5, 0.75])


@pytest.mark.parametrize(
  'spec, expected',
  [
    (specs.Array((6, 6, 1), np.uint8), 100 / 255),
    (specs.Array((6, 6, 1), np.float32), 100),
    (specs.Array((6, 6, 1), np.int32), 100),
    (specs.BoundedArray((6, 6, 1), np.float32, 0, np.inf), 100),
    (specs.BoundedArray((6, 6, 1), np.int32, -(2**31), 2**31 - 1), 100),
    (specs.BoundedArray((6, 6, 1), np.float32, 5, 5), 100),
  ],
)
def test_without_bounds_bytes_are_scaled_and_others_stay(spec, expected):
  images = np.full((1, 6, 6, 1), 100, spec.dtype)
  np.testing.assert_allclose(networks.pixels(spec, images), expected, 1e-6)


def test_channels_that_come_first_are_brought_to_the_end():
  images = np.random.default_rng(0).integers(0, 256, (2, 3, 12, 10), np.uint8)
  first = specs.BoundedArray((3, 12, 10), np.uint8, 0, 255)
  last = specs.BoundedArray((12, 10, 3), np.uint8, 0, 255)
  np.testing.assert_allclose(
    networks.pixels(first, images),
    networks.pixels(last, np.moveaxis(images, 1, -1)),
    1e-6,
  )


@pytest.mark.parametrize(
  'shape, axis',
  [
    ((84, 84, 4), -1),
    ((4, 84, 84), 0),
    ((12, 84, 84), 0),
    ((84, 84, 12), -1),
    ((3, 4, 4), -1),
    ((8, 8, 8), -1),
    ((8, 8, 20), -1),
    ((1, 64, 96), 0),
  ],
)
def test_the_channels_are_found(shape, axis):
  assert spaces.channels_axis(shape) == axis


def test_channels_in_the_middle_are_refused():
  with pytest.raises(ValueError, match=r'\(84, 3, 84\) .* on the last axis'):
    spaces.channels_axis((84, 3, 84))
