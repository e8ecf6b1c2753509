"""Real Reverb servers, and what the tests of this folder compare."""

from collections.abc import Callable
from typing import Any

import compat  # noqa: F401

import dm_env
import numpy as np
import reverb
import tree
from acme import adders, specs
from acme.adders import reverb as acme_adders
from acme.datasets import reverb as acme_datasets

from replay import batches, transition_adder, transition_layout

TABLE = 'transitions'
DISCOUNT = 0.9


def serve(signature: Any, sampler: Any) -> reverb.Server:
  """Returns a server of one table; a Fifo sampler gives each item once."""
  is_fifo = isinstance(sampler, type(reverb.selectors.Fifo()))
  return reverb.Server(
    [
      reverb.Table(
        TABLE,
        sampler,
        reverb.selectors.Fifo(),
        max_size=1000,
        max_times_sampled=1 if is_fifo else 0,
        rate_limiter=reverb.rate_limiters.MinSize(1),
        signature=signature,
      )
    ]
  )


class AcmePath:
  """Transitions as Acme's adder and dataset move them."""

  def __init__(
    self,
    spec: specs.EnvironmentSpec,
    n_step: int,
    extras_spec: Any = (),
    make_sampler: Callable[[], Any] = reverb.selectors.Fifo,
  ):
    self.signature = acme_adders.NStepTransitionAdder.signature(
      spec, extras_spec
    )
    self._spec, self._extras_spec, self._n_step = spec, extras_spec, n_step
    self.server = serve(self.signature_of_table(), make_sampler())
    self.client = reverb.Client(f'localhost:{self.server.port}')
    self.adder = self.make_adder()

  def signature_of_table(self) -> Any:
    return self.signature

  def make_adder(self) -> adders.Adder:
    return acme_adders.NStepTransitionAdder(
      self.client, self._n_step, DISCOUNT, priority_fns={TABLE: None}
    )

  def close(self) -> None:
    # A server with open streams takes five seconds to stop.
    self.adder = None
    self.server.stop()

  def num_items(self) -> int:
    return self.client.server_info()[TABLE].current_size

  def all_items(self) -> reverb.ReplaySample:
    """Returns a batch of all items, in the order in which they were added."""
    num = self.num_items()
    # A sampler that waits for more items takes seconds to end.
    add_episode(self.adder, self._spec, 4 * num, True, 0, self._extras_spec)
    return self.batch(num)

  def batch(self, size: int) -> reverb.ReplaySample:
    dataset = acme_datasets.make_reverb_dataset(
      self.client.server_address,
      batch_size=size,
      table=TABLE,
      num_parallel_calls=1,
    )
    return next(dataset.as_numpy_iterator())


class PackedPath(AcmePath):
  """Transitions as this program moves them."""

  def signature_of_table(self) -> Any:
    self.layout = transition_layout.TransitionLayout(self.signature)
    return self.layout.signature

  def make_adder(self) -> adders.Adder:
    return transition_adder.TransitionAdder(
      self.client, TABLE, self.layout, self._n_step, DISCOUNT
    )

  def batch(self, size: int) -> reverb.ReplaySample:
    return next(
      batches.batches(self.client.server_address, TABLE, self.layout, size)
    )


def values(spec: Any, rng: np.random.Generator) -> Any:
  """Returns random values of a nest of specs."""

  def value(leaf: specs.Array) -> np.ndarray:
    if leaf.dtype.kind == 'f':
      return rng.normal(size=leaf.shape).astype(leaf.dtype)
    return rng.integers(0, 256, leaf.shape).astype(leaf.dtype)

  return tree.map_structure(value, spec)


def add_episode(
  adder: adders.Adder,
  spec: specs.EnvironmentSpec,
  length: int,
  is_terminal: bool,
  seed: int,
  extras_spec: Any = (),
  is_complete: bool = True,
) -> None:
  """Adds an episode of random values, which depend on the seed only."""
  rng = np.random.default_rng(seed)
  adder.add_first(dm_env.restart(values(spec.observations, rng)))
  for step in range(1, length + 1):
    is_last = is_complete and step == length
    discount = 0.0 if is_last and is_terminal else rng.choice([1.0, 0.5])
    timestep = dm_env.TimeStep(
      dm_env.StepType.LAST if is_last else dm_env.StepType.MID,
      values(spec.rewards, rng),
      spec.discounts.dtype.type(discount),
      values(spec.observations, rng),
    )
    adder.add(values(spec.actions, rng), timestep, values(extras_spec, rng))


def assert_same(a: Any, b: Any) -> None:
  """Asserts that nests have the same structure, dtypes, shapes and bits."""
  tree.assert_same_structure(a, b)
  for (path, x), y in zip(
    tree.flatten_with_path(a), tree.flatten(b), strict=True
  ):
    assert (x.dtype, x.shape) == (y.dtype, y.shape), path
    np.testing.assert_array_equal(x, y, str(path))
