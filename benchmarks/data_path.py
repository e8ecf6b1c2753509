"""Measures the CPU time of transitions on their way through replay.

  python -m benchmarks.data_path [--transitions=20000]

Peer: the adder and the dataset of Acme's agents, `NStepTransitionAdder` and
`make_reverb_dataset`. Both sides insert the same random episodes into a Reverb
server in a process of its own, and sample batches from it over the network.

CPU time hardly depends on what else the machine does. For each part of the
path, the benchmark prints that of the client (an actor inserts, a learner
samples) and that of the server, and how much memory a transition takes there.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import compat  # noqa: F401

import dm_env
import numpy as np
import psutil
import reverb
from absl import app, flags
from acme import adders, specs
from acme.adders import reverb as acme_adders
from acme.datasets import reverb as acme_datasets

from benchmarks.support import forks
from replay import batch_server, batches, transition_adder, transition_layout

_TRANSITIONS = flags.DEFINE_integer(
  'transitions', 20_000, 'Transitions to insert; a tenth as many of pixels.'
)
_BATCHES = flags.DEFINE_integer('batches', 300, 'Batches to sample.')
_TABLE = 'transitions'
_EPISODE_STEPS = 200
_DISCOUNT = 0.99


class _Case(NamedTuple):
  name: str
  observations: specs.Array
  actions: specs.Array
  n_step: int
  batch_size: int

  def spec(self) -> specs.EnvironmentSpec:
    return specs.EnvironmentSpec(
      self.observations,
      self.actions,
      specs.Array((), np.float32),
      specs.BoundedArray((), np.float32, 0, 1),
    )

  def signature(self) -> Any:
    return acme_adders.NStepTransitionAdder.signature(self.spec())

  def num_transitions(self) -> int:
    is_small = self.observations.dtype == np.float32
    return _TRANSITIONS.value // (1 if is_small else 10)


_FLOATS = specs.Array((17,), np.float32), specs.Array((6,), np.float32)
_CASES = (
  _Case('17 floats', *_FLOATS, n_step=1, batch_size=256),
  _Case('17 floats', *_FLOATS, n_step=5, batch_size=256),
  _Case(
    '84x84x4 pixels',
    specs.Array((84, 84, 4), np.uint8),
    specs.DiscreteArray(6),
    n_step=3,
    batch_size=32,
  ),
)


class _Acme:
  """The path that Acme's agents use."""

  name = 'Acme'
  has_batch_server = False

  def signature(self, case: _Case) -> Any:
    return case.signature()

  def adder(self, case: _Case, client: reverb.Client) -> adders.Adder:
    return acme_adders.NStepTransitionAdder(
      client, case.n_step, _DISCOUNT, priority_fns={_TABLE: None}
    )

  def dataset(self, case: _Case, address: str) -> Iterator:
    return acme_datasets.make_reverb_dataset(
      table=_TABLE,
      server_address=address,
      batch_size=case.batch_size,
      prefetch_size=4,
    ).as_numpy_iterator()


class _Packed:
  """The path of this program's agents."""

  name = 'this program'
  has_batch_server = True

  def signature(self, case: _Case) -> Any:
    return transition_layout.TransitionLayout(case.signature()).signature

  def adder(self, case: _Case, client: reverb.Client) -> adders.Adder:
    layout = transition_layout.TransitionLayout(case.signature())
    return transition_adder.TransitionAdder(
      client, _TABLE, layout, case.n_step, _DISCOUNT
    )

  def dataset(self, case: _Case, address: str) -> Iterator:
    layout = transition_layout.TransitionLayout(case.signature())
    return batches.batches(address, _TABLE, layout, case.batch_size)


class _PackedElsewhere(_Packed):
  """The path if the learner is on another machine than replay."""

  name = 'this program, by gRPC'
  has_batch_server = False


def _serving(side: Any, case: _Case) -> dict[str, Callable]:
  table = reverb.Table(
    _TABLE,
    reverb.selectors.Uniform(),
    reverb.selectors.Fifo(),
    max_size=10 * _TRANSITIONS.value,
    rate_limiter=reverb.rate_limiters.MinSize(1),
    signature=side.signature(case),
  )
  server = reverb.Server([table])
  address = f'localhost:{server.port}'
  if side.has_batch_server:
    batch_server.serve(address, server.port)
  return {
    'address': lambda: f'localhost:{server.port}',
    'items': lambda: table.info.current_size,
    'cpu': time.process_time,
    'memory': lambda: psutil.Process().memory_info().rss,
  }


def _acting(side: Any, case: _Case, address: str) -> dict[str, Callable]:
  adder = side.adder(case, reverb.Client(address))
  rng = np.random.default_rng(0)
  shape, dtype = case.observations.shape, case.observations.dtype
  observations = [
    rng.integers(0, 255, shape).astype(dtype) for _ in range(_EPISODE_STEPS + 1)
  ]
  action = np.zeros(case.actions.shape, case.actions.dtype)
  one = np.float32(1)

  def episode() -> None:
    adder.add_first(dm_env.restart(observations[0]))
    for step in range(1, _EPISODE_STEPS):
      adder.add(action, dm_env.transition(one, observations[step], one))
    adder.add(action, dm_env.truncation(one, observations[-1], one))

  def insert() -> float:
    start = time.process_time()
    for _ in range(case.num_transitions() // _EPISODE_STEPS):
      episode()
    return time.process_time() - start

  return {'warm up': episode, 'insert': insert}


def _learning(side: Any, case: _Case, address: str) -> dict[str, Callable]:
  dataset = side.dataset(case, address)

  def sample(num_batches: int) -> float:
    start = time.process_time()
    for _ in range(num_batches):
      next(dataset)
    return time.process_time() - start

  # The first batches include those that Acme's dataset fetches ahead.
  return {
    'warm up': lambda: sample(50),
    'sample': lambda: sample(_BATCHES.value),
  }


def _measure(side: Any, case: _Case) -> str:
  """Returns a row of the table: a side's figures for a case."""
  server = forks.ForkedProcess(lambda: _serving(side, case))
  address = server.call('address')

  def cpu(client: forks.ForkedProcess, call: str) -> tuple[float, float]:
    before = server.call('cpu')
    return client.call(call), server.call('cpu') - before

  actor = forks.ForkedProcess(lambda: _acting(side, case, address))
  actor.call('warm up')
  memory, items = server.call('memory'), server.call('items')
  insert = cpu(actor, 'insert')
  memory = server.call('memory') - memory
  items = server.call('items') - items
  learner = forks.ForkedProcess(lambda: _learning(side, case, address))
  learner.call('warm up')
  sample = cpu(learner, 'sample')
  for process in (learner, actor, server):
    process.kill()
  return (
    f'| {case.name}, {case.n_step} | {side.name} | '
    + ' | '.join(f'{1e6 * part / items:.0f}' for part in insert)
    + f' | {case.batch_size} | '
    + ' | '.join(f'{1e3 * part / _BATCHES.value:.2f}' for part in sample)
    + f' | {memory / items / 1e3:.1f} |'
  )


def main(_) -> None:
  print(
    '| observation, n_step | side | insert, µs: actor | server '
    '| batch | sample, ms: learner | server | kB an item |\n'
    '|---|---|---|---|---|---|---|---|'
  )
  for case in _CASES:
    for side in (_Acme(), _Packed(), _PackedElsewhere()):
      print(_measure(side, case), flush=True)


if __name__ == '__main__':
  app.run(main)
