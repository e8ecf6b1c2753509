"""What publishing costs a learner: its steps per second with and without.

  python -m benchmarks.publishing [--megabytes=100] [--step_ms=20]

The learner's thread has one core to itself; its publisher's threads and the
variable server have the others, as on a machine with a core to spare. A step
is either a sleep, as when an accelerator does the work, or a computation on the
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
from benchmarks import crew

_MEGABYTES = flags.DEFINE_float('megabytes', 100.0, 'Payload.')
_STEP_MS = flags.DEFINE_float('step_ms', 20.0, 'How long a step takes.')
_WINDOWS = flags.DEFINE_integer('windows', 5, 'Windows of either kind.')
_SECONDS = flags.DEFINE_float('seconds', 4.0, 'How long a window is.')

_LEAVES = 20
# A dead server must not be noticed during the windows that follow.
_TIMEOUT = 600.0


def _make_compute() -> Callable[[], None]:
  """A computation on one core that takes as long as a step."""
  values = np.linspace(0, 1, 20_000)

  def run(times: int) -> float:
    start = time.monotonic()
    for _ in range(times):
      np.sin(values)
    return time.monotonic() - start

  run(500)
  each = min(run(200) for _ in range(10)) / 200
  times = round(_STEP_MS.value / 1e3 / each)
  return lambda: run(times)


class Learner:
  """Steps, and publishes after each step if told to."""

  def __init__(self, address: str, cores: list[int]):
    size = int(_MEGABYTES.value * 1e6) // 4 // _LEAVES
    rng = np.random.default_rng(0)
    # Threads have the cores of whoever starts them.
    os.sched_setaffinity(0, cores[1:])
    self._params = {
      f'leaf_{i:02d}': jax.numpy.asarray(rng.standard_normal(size, np.float32))
      for i in range(_LEAVES)
    }
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
    """Steps per second in one window."""
    step, steps = self._steps[kind], 0
    start = time.monotonic()
    while time.monotonic() - start < _SECONDS.value:
      step()
      steps += 1
      if publishes:
        self.publisher.publish(self._params)
    return steps / (time.monotonic() - start)

  def compare(self, kind: str) -> None:
    """Prints what publishing costs steps of one kind."""
    plain, publishing, losses, pushes = [], [], [], 0.0
    for _ in range(_WINDOWS.value):
      self.publisher.flush()
      plain.append(self.rate(kind, publishes=False))
      before = self.publisher.metrics()['weights/pushes']
      publishing.append(self.rate(kind, publishes=True))
      pushes += self.publisher.metrics()['weights/pushes'] - before
      losses.append(1 - publishing[-1] / plain[-1])
    print(
      f'{kind}: {statistics.median(plain):.2f} steps/s alone, '
      f'{statistics.median(publishing):.2f} publishing, '
      f'{statistics.median(losses):.1%} lost (from {min(losses):.1%} to '
      f'{max(losses):.1%}); {pushes / _WINDOWS.value / _SECONDS.value:.1f} '
      'pushes/s',
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
    raise SystemExit('This needs two cores: one for the learner, one to spare.')
  server = crew.Role(lambda: _serving(cores))
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
