"""Measures how many steps per second publishing costs a learner.

  python -m benchmarks.publishing [--megabytes=100] [--step_ms=20]

The peer is the same learner while it does not publish.

The learner's thread has one core to itself. Its publisher's threads and the
variable server have the other cores, as on a machine with a spare core. A step
is either a sleep, as if an accelerator did the work, or a computation on the
core. Windows with and without publishing take turns. At the end the server is
killed, and the learner goes on publishing.
"""

import os
import statistics
import time
from collections.abc import Callable

import jax
import numpy as np
import reverb
from absl import app, flags

import container
from benchmarks.support import forks

_MEGABYTES = flags.DEFINE_float('megabytes', 100.0, 'Size, in 10^6 bytes.')
_STEP_MS = flags.DEFINE_float('step_ms', 20.0, 'Milliseconds of a step.')
_WINDOWS = flags.DEFINE_integer('windows', 5, 'Windows of each kind.')
_SECONDS = flags.DEFINE_float('seconds', 4.0, 'Seconds of a window.')

_LEAVES = 20
# The publisher must not give up a dead server while it is measured.
_TIMEOUT = 600.0


def _make_compute() -> Callable[[], None]:
  """Returns a jitted computation that takes as long as a step on one core."""
  values = jax.numpy.linspace(0, 1, 10_000)

  @jax.jit
  def run(times: int) -> jax.Array:
    return jax.lax.fori_loop(0, times, lambda _, x: jax.numpy.sin(x), values)

  def seconds(times: int) -> float:
    start = time.monotonic()
    run(times).block_until_ready()
    return time.monotonic() - start

  seconds(100)
  each = min(seconds(100) for _ in range(10)) / 100
  times = round(_STEP_MS.value / 1e3 / each)
  return lambda: seconds(times)


class Learner:
  """Takes steps, and publishes after each of them if it is told to."""

  def __init__(self, address: str, cores: list[int]):
    size = int(_MEGABYTES.value * 1e6) // 4 // _LEAVES
    rng = np.random.default_rng(0)
    # A thread gets the cores of the thread that starts it. JAX starts its own
    # threads now, on the learner's core.
    os.sched_setaffinity(0, cores[:1])
    self._params = {
      f'leaf_{i:02d}': jax.numpy.asarray(rng.standard_normal(size, np.float32))
      for i in range(_LEAVES)
    }
    os.sched_setaffinity(0, cores[1:])
    self.publisher = container.Publisher(
      container.ReverbVariableContainer(address, timeout=_TIMEOUT)
    )
    self.publisher.publish(self._params)
    self.publisher.flush()
    os.sched_setaffinity(0, cores[:1])
    sleep_seconds = _STEP_MS.value / 1e3
    self._steps = {
      'sleep': lambda: time.sleep(sleep_seconds),
      'compute': _make_compute(),
    }

  def rate(self, kind: str, publishes: bool) -> float:
    """Returns the steps per second in one window.

    Args:
      kind: 'sleep' or 'compute'.
      publishes: whether each step is followed by a publication.
    """
    step, steps = self._steps[kind], 0
    start = time.monotonic()
    while time.monotonic() - start < _SECONDS.value:
      step()
      steps += 1
      if publishes:
        self.publisher.publish(self._params)
    return steps / (time.monotonic() - start)

  def compare(self, kind: str) -> None:
    """Prints what publishing costs.

    Args:
      kind: 'sleep' or 'compute'.
    """
    plain, publishing, losses, pushes, blocked = [], [], [], 0.0, 0.0
    for _ in range(_WINDOWS.value):
      self.publisher.flush()
      plain.append(self.rate(kind, publishes=False))
      before = self.publisher.metrics()
      publishing.append(self.rate(kind, publishes=True))
      after = self.publisher.metrics()
      pushes += after['weights/pushes'] - before['weights/pushes']
      blocked += (
        after['weights/blocked_seconds'] - before['weights/blocked_seconds']
      )
      losses.append(1 - publishing[-1] / plain[-1])
    seconds = _WINDOWS.value * _SECONDS.value
    print(
      f'{kind}: {statistics.median(plain):.2f} steps/s alone, '
      f'{statistics.median(publishing):.2f} publishing, '
      f'{statistics.median(losses):.1%} lost (from {min(losses):.1%} to '
      f'{max(losses):.1%}); {pushes / seconds:.1f} pushes/s; '
      f'{blocked / seconds:.1%} of the time in publish()',
      flush=True,
    )


def _serving(cores: list[int]) -> dict[str, Callable]:
  os.sched_setaffinity(0, cores[1:])
  size = int(_MEGABYTES.value * 1e6) // 4 // _LEAVES
  values = {f'leaf_{i:02d}': np.zeros(size, np.float32) for i in range(_LEAVES)}
  server = reverb.Server([container.variable_table(values)])
  return {'address': lambda: f'127.0.0.1:{server.port}'}


def main(_) -> None:
  cores = sorted(os.sched_getaffinity(0))
  if len(cores) < 2:
    raise SystemExit('This needs two cores: one of them for the learner.')
  server = forks.ForkedProcess(lambda: _serving(cores))
  learner = Learner(server.call('address'), cores)
  for kind in ('sleep', 'compute'):
    learner.compare(kind)
  learner.publisher.flush()
  alone = learner.rate('compute', publishes=False)
  server.kill()
  dead = learner.rate('compute', publishes=True)
  print(f'dead server: {alone:.2f} steps/s alone, {dead:.2f} publishing')


if __name__ == '__main__':
  app.run(main)
