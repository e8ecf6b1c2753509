"""The learner: learns from batches of samples and publishes its weights."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import compat  # noqa: F401

from acme import core

import container
from nodes import counter as counter_lib
from nodes import counter_client, worker
from nodes.checks import finite
from nodes.saving import checkpoint, saved_state
from run_files import metric_names

_VERSION = 'weights_version'


def version_saved(saved: saved_state.Saved | None) -> int:
  """Returns the version of the weights in a state, or 0 if there is none."""
  return saved.facts[_VERSION] if saved else 0


def restore(learner: core.Learner, saved: saved_state.Saved) -> None:
  """Puts a saved state into a learner.

  Raises:
    saved_state.MismatchError: the state is of another agent or network.
  """
  learner.restore(saved.fit(learner.save()))


class LearnerLoop(core.Worker):
  """Makes the learner step, and offers its weights after each step."""

  def __init__(
    self,
    learner: core.Learner,
    variable_names: Sequence[str],
    publisher: container.Publisher,
    checkpointer: checkpoint.Checkpointer | None = None,
    saved: saved_state.Saved | None = None,
    is_enough: Callable[[], bool] = lambda: False,
    accepts: Callable[[Any], bool] = lambda state: True,
  ):
    """Restores the learner if a state was saved.

    Args:
      learner: the learner that takes the steps.
      variable_names: the names of the variables that are published.
      publisher: sends the variables to the variable server.
      checkpointer: saves the learner's state, so that it survives a restart.
      saved: the state to start from, as `checkpointer.restore()` returned it.
      is_enough: called before each step; the loop ends when it returns True.
      accepts: called with each state before it is saved; a state for which it
        returns False is not saved.

    Raises:
      saved_state.MismatchError: `saved` is of another agent or network.
      leaves.UnsavableError: the learner's state cannot be saved.
    """
    self._learner = learner
    self._variable_names = tuple(variable_names)
    self._publisher = publisher
    self._checkpointer = checkpointer
    self._is_enough = is_enough
    self._accepts = accepts
    if saved is not None:
      restore(learner, saved)
    elif checkpointer is not None:
      # If a state cannot be saved, the run must fail now, not after hours.
      saved_state.to_bytes(learner.save(), {})

  def run(self) -> None:
    """Publishes the initial weights, then steps until `is_enough` is True."""
    self.publish()
    while not self._is_enough():
      worker.check()
      self.step()
      if self._checkpointer and self._checkpointer.due():
        self.checkpoint()

  def checkpoint(self) -> None:
    """Saves the learner's state, if there is a checkpointer."""
    if self._checkpointer is None:
      return
    state = self._learner.save()
    if self._accepts(state):
      self._checkpointer.save(state, {_VERSION: self._publisher.version})
    else:
      self._checkpointer.postpone()

  def close(self) -> None:
    """Saves the learner's state once more, and prints a line if that fails."""
    self.checkpoint()
    if self._checkpointer:
      self._checkpointer.close()

  def step(self) -> None:
    """Takes one step and offers the weights that it made."""
    self._learner.step()
    self.publish()

  def publish(self) -> None:
    """Offers the learner's weights to the publisher.

    The publisher skips them if it published others a short time ago.
    """
    self._publisher.publish(
      lambda: named_variables(self._learner, self._variable_names)
    )

  def get_variables(self, names: Sequence[str]) -> list[Any]:
    """Returns the learner's variables of these names."""
    return self._learner.get_variables(names)


def named_variables(
  source: core.VariableSource, names: Sequence[str]
) -> dict[str, Any]:
  """Returns variables by name, as the variable server's table holds them.

  Args:
    source: a learner, or another source of variables.
    names: the names that its `get_variables` is called with.

  Returns:
    A nest of arrays for each name.
  """
  return dict(zip(names, source.get_variables(names), strict=True))


class Samples(Iterator):
  """A dataset's batches, fetched ahead by a background thread.

  Reverb waits for samples inside C++, where Python handles no signal. So only
  the background thread waits there. As a daemon thread it need not end.
  """

  _POLL_SECONDS = 0.2

  def __init__(self, dataset: Iterator[Any]):
    """Wraps a dataset; the background thread starts at the first `next`.

    Args:
      dataset: yields batches. An error that it raises, `StopIteration` too, is
        raised by `next`.
    """
    self._dataset = dataset
    # `queue.Queue` would take as long as a tenth of a small agent's step.
    self._buffer: queue.SimpleQueue = queue.SimpleQueue()
    # Has an entry for each batch that the thread may fetch. This is one, which
    # is made while the learner uses another: the samples of more would have
    # been drawn longer ago.
    self._room: queue.SimpleQueue = queue.SimpleQueue()
    self._room.put(True)
    self._thread = threading.Thread(
      target=self._fetch, daemon=True, name='samples'
    )
    self._error: BaseException | None = None
    self._is_stopped = False
    self._waited_seconds = 0.0

  def __next__(self) -> Any:
    if self._thread.ident is None:
      self._thread.start()
    start = time.monotonic()
    try:
      return self._next()
    finally:
      self._waited_seconds += time.monotonic() - start

  def stop(self) -> None:
    """Makes `next` raise `SystemExit` from now on, also in a waiting call.

    So this also ends a thread of Acme that prefetches by calling `next`.
    """
    self._is_stopped = True

  def _next(self) -> Any:
    while True:
      if self._is_stopped:
        raise SystemExit
      is_ended = not self._thread.is_alive()
      try:
        batch = self._buffer.get(timeout=0 if is_ended else self._POLL_SECONDS)
      except queue.Empty:
        if is_ended:
          raise self._error from None
      else:
        self._room.put(True)
        return batch

  def _fetch(self) -> None:
    try:
      batches = iter(self._dataset)
      while self._room.get():
        self._buffer.put(next(batches))
    except BaseException as e:
      self._error = e

  def metrics(self) -> dict[str, float]:
    """Returns the seconds that the learner has waited for samples so far."""
    return {metric_names.SAMPLE_WAIT: self._waited_seconds}


class WeightsWatch(finite.Watch):
  """Refuses weights with a NaN or an infinity; counts them or ends the run."""

  def __init__(self, counter: counter_client.Counter, stop: bool):
    """Makes a watch that has found nothing yet.

    Args:
      counter: counts the learner's steps.
      stop: True raises an error at the first such weights; False logs them.
    """
    super().__init__(stop)
    self._counter = counter

  def progress(self) -> str:
    """Returns a text with this process's name and its number of steps."""
    counts = self._counter.known_counts()
    return f'learner/0, after step {counts.get(counter_lib.LEARNER_STEPS, 0):,}'

  def accepts(self, values: Any) -> bool:
    """Returns whether weights, or a learner's state, are finite.

    Args:
      values: a nest of arrays and numbers.

    Raises:
      finite.NonFiniteError: these are the first values that are not finite, and
        the run must end at them.
    """
    found = finite.find(values, 'weight')
    if found is not None:
      self.take(f'{self.progress()}: the {found}')
    return found is None
