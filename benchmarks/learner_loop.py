"""Measures what the learner's loop costs a step, beside the step itself.

  python -m benchmarks.learner_loop [--step_ms=0,2.5] [--seconds=5]

The loop is that of a learner's process, with its counter, its publisher and its
logger; their servers are in another process. Its learner does in a step what
Acme's learners do, but its update is a loop of sines on one core, and its
dataset yields the same batch for ever. The peer is the update alone: nothing
but `next(batch)` and the jitted function.

For each length of an update, it prints the microseconds a step that the loop
adds, of wall time and of CPU time. The threads of the process all count.
"""

import dataclasses
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import compat  # noqa: F401

import courier
import jax
import numpy as np
import reverb
from absl import app, flags
from acme import core, specs
from launchpad import context
from launchpad.launch import worker_manager

import container
from benchmarks.support import forks
from nodes import counter as counter_lib
from nodes import counter_client
from programs import experiment as experiment_lib
from programs import processes
from reporting import loggers

_STEP_MS = flags.DEFINE_list('step_ms', ['0', '2.5'], 'Lengths of an update.')
_SECONDS = flags.DEFINE_float('seconds', 5.0, 'Seconds of a window.')
_WINDOWS = flags.DEFINE_integer('windows', 3, 'Windows of each kind.')

_BATCH = {'x': np.zeros((256, 8), np.float32)}
# The weights of two networks of 64 by 64 units.
_SHAPES = [(8, 64), (64,), (64, 64), (64,), (64, 2), (2,)] * 2
_WEIGHTS = {str(i): np.zeros(s, np.float32) for i, s in enumerate(_SHAPES)}
_CALIBRATION = 2000


class Cost(NamedTuple):
  """What one step takes, in microseconds."""

  wall: float
  cpu: float


class Clock:
  """Measures the time from one call to the next, per step."""

  def __init__(self):
    self._at = (time.monotonic(), time.process_time())

  def per_step(self, steps: int) -> Cost:
    wall, cpu = (
      time.monotonic() - self._at[0],
      time.process_time() - self._at[1],
    )
    return Cost(wall / steps * 1e6, cpu / steps * 1e6)


class FakeLearner(core.Learner):
  """Does in a step what Acme's learners do, with a given update."""

  def __init__(self, update, dataset, counter, logger):
    self._update = update
    self._dataset = dataset
    self._counter = counter
    self._logger = logger
    self._weights = jax.tree_util.tree_map(jax.numpy.asarray, _WEIGHTS)
    self._stepped_at = time.time()

  def step(self) -> None:
    batch = next(self._dataset)
    self._weights, losses = self._update(self._weights, batch)
    now = time.time()
    counts = self._counter.increment(steps=1, walltime=now - self._stepped_at)
    self._stepped_at = now
    self._logger.write({**losses, **counts})

  def get_variables(self, names: list[str]) -> list[Any]:
    return [self._weights for _ in names]

  def save(self) -> Any:
    return self._weights

  def restore(self, state: Any) -> None:
    self._weights = state


@dataclasses.dataclass(frozen=True)
class FakeBuilder:
  """Makes a learner with the given update.

  Attributes:
    update: a jitted function from weights and a batch to weights and losses.
  """

  update: Callable[..., Any]

  def make_learner(
    self, key, networks, dataset, logger_fn, spec, replay_client, counter
  ) -> FakeLearner:
    del key, networks, spec, replay_client
    return FakeLearner(self.update, dataset, counter, logger_fn('learner'))

  def make_actor(self, key, policy, environment_spec, source) -> None:
    """Is not called; its arguments say that this is Acme's later form."""


def _make_update(times: int) -> Callable[..., Any]:
  """Returns a jitted update that takes as long as so many rows of sines."""

  def update(weights: Any, batch: Any) -> tuple[Any, dict[str, Any]]:
    start = weights['2'] + batch['x'][0, 0]
    values = jax.lax.fori_loop(0, times, lambda _, x: jax.numpy.sin(x), start)
    losses = {'actor_loss': values[0, 0], 'critic_loss': values[0, 1]}
    return {**weights, '2': values}, losses

  return jax.jit(update)


def _alone(update: Callable[..., Any], seconds: float) -> tuple[Cost, int]:
  """Returns what a step without the loop takes, and how many were made."""
  dataset = itertools.repeat(_BATCH)
  weights, _ = jax.block_until_ready(update(_WEIGHTS, next(dataset)))
  clock, deadline = Clock(), time.monotonic() + seconds
  steps = 0
  while time.monotonic() < deadline:
    weights, _ = update(weights, next(dataset))
    steps += 1
  jax.block_until_ready(weights)
  return clock.per_step(steps), steps


def _in_loop(
  update: Callable[..., Any], servers: forks.ForkedProcess, steps: int
) -> Cost:
  """Returns what a step of a learner's process takes."""
  counter = counter_client.CounterClient(servers.call('counter'))
  counts = counter.get_counts()
  with tempfile.TemporaryDirectory() as folder:
    experiment = experiment_lib.ExperimentConfig(
      builder=FakeBuilder(update),
      network_factory=lambda spec: None,
      environment_factory=lambda seed: None,
      environment_spec=specs.EnvironmentSpec(*[specs.Array((), float)] * 4),
      max_num_actor_steps=None,
      max_num_learner_steps=counts.get('learner_steps', 0) + steps,
      logger_factory=lambda *args: loggers.make_logger(
        folder, *args, print_fn=lambda line: None
      ),
      dataset_factory=lambda: itertools.repeat(_BATCH),
    )
    learner = processes.learner(
      experiment,
      None,
      container.ReverbVariableContainer(servers.call('variables')),
      counter,
    )
    clock = Clock()
    learner.run()
    return clock.per_step(steps)


def _serving() -> dict[str, Callable]:
  """Runs the two servers that a learner has, and returns their addresses."""
  table = container.variable_table({'policy': _WEIGHTS})
  variables = reverb.Server([table])
  counter, server = counter_lib.GlobalCounter(), courier.Server()
  server.Bind('report', counter.report)
  server.Bind('get_counts', counter.get_counts)
  server.Start()
  return {
    'variables': lambda: f'localhost:{variables.port}',
    'counter': lambda: f'localhost:{server.port}',
  }


def _times(milliseconds: float) -> int:
  """Returns how many rows of sines take so long."""
  cost, _ = _alone(_make_update(_CALIBRATION), 1.0)
  # Other programs on the machine do not change the CPU time.
  return round(milliseconds * 1e3 / cost.cpu * _CALIBRATION)


def main(_) -> None:
  servers = forks.ForkedProcess(_serving)
  # A node's thread has these two.
  context.set_context(context.LaunchContext())
  worker_manager.WorkerManager(register_in_thread=True)
  for milliseconds in map(float, _STEP_MS.value):
    update = _make_update(_times(milliseconds))
    alone, within = [], []
    for _ in range(_WINDOWS.value):
      cost, steps = _alone(update, _SECONDS.value)
      alone.append(cost)
      within.append(_in_loop(update, servers, steps))
    print(f'an update of {milliseconds:g} ms:')
    for kind in Cost._fields:
      before, after = (
        statistics.median(getattr(cost, kind) for cost in costs)
        for costs in (alone, within)
      )
      print(
        f'  {kind}: {before:.0f} us alone, {after:.0f} us in the loop, '
        f'{after - before:.0f} us added ({after / before - 1:.1%})',
        flush=True,
      )
  servers.close()


if __name__ == '__main__':
  app.run(main)
