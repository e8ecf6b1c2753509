"""The learner: steps on samples from replay and publishes its weights."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import compat  # noqa: F401

from absl import logging
from acme import core
from acme.utils import loggers

import container
from nodes import counter as counter_lib
from nodes import counter_client, finite, worker
from nodes.saving import checkpoint, saved_state
from run_files import metric_names

_VERSION = 'weights_version'


def version_saved(saved: saved_state.Saved | None) -> int:
  """Returns the version of the weights that were saved, 0 if none were."""
  return saved.facts[_VERSION] if saved else 0


def restore(learner: core.Learner, saved: saved_state.Saved) -> None:
  """Gives a learner the state that was saved.

  Raises:
    saved_state.MismatchError: that is of another agent or network.
  """
  learner.restore(saved.fit(learner.save()))


class LearnerLoop(core.Worker):
  """Alternates a learner's step with an offer of its weights."""

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
    """Restores the learner, if there is something saved.

    Args:
      learner: steps and tells its variables.
      variable_names: which of them are published.
      publisher: takes them to the variable server.
      checkpointer: keeps the learner's state over a restart.
      saved: what a loop like this saved, from `checkpointer.restore()`.
      is_enough: asked before each step; ends the loop.
      accepts: asked about each state; one that it refuses is not saved.

    Raises:
      saved_state.MismatchError: that is of another agent or network.
      saved_state.UnsavableError: the learner's state cannot be saved.
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
      # Rather now than when there is something to lose.
      saved_state.to_bytes(learner.save(), {})

  def run(self) -> None:
    """Publishes the initial weights, then learns until it is enough."""
    self.publish()
    while not self._is_enough():
      worker.check()
      self.step()
      if self._checkpointer and self._checkpointer.due():
        self.checkpoint()

  def checkpoint(self) -> None:
    """Saves the learner and its weights' version, if they are to be kept."""
    if self._checkpointer is None:
      return
    state = self._learner.save()
    if self._accepts(state):
      self._checkpointer.save(state, {_VERSION: self._publisher.version})
    else:
      self._checkpointer.postpone()

  def close(self) -> None:
    """Saves the learner for the last time, and says so if it cannot be."""
    self.checkpoint()
    if self._checkpointer:
      self._checkpointer.close()

  def step(self) -> None:
    """Takes one learner step and offers the weights that it made."""
    self._learner.step()
    self.publish()

  def publish(self) -> None:
    """Offers the learner's weights to the publisher."""
    self._publisher.publish(
      lambda: named_variables(self._learner, self._variable_names)
    )

  def get_variables(self, names: Sequence[str]) -> list[Any]:
    """Returns the learner's variables of these names."""
    return self._learner.get_variables(names)


def named_variables(
  source: core.VariableSource, names: Sequence[str]
) -> dict[str, Any]:
  """Returns the variables as the table holds them: a nest by name."""
  return dict(zip(names, source.get_variables(names), strict=True))


class Samples(Iterator):
  """A dataset's batches, fetched ahead in the background and counted.

  Reverb waits for samples inside C++, where no Python signal gets through; here
  only a background thread waits there.
  """

  _POLL_SECONDS = 0.2

  def __init__(self, dataset: Iterator[Any], buffer_size: int = 2):
    """Wraps `dataset`; the background thread starts at the first `next`.

    Args:
      dataset: yields batches; an error it raises is raised by `next` here.
      buffer_size: how many batches are kept ready.
    """
    self._dataset = dataset
    self._buffer: queue.Queue = queue.Queue(buffer_size)
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
    """Ends the thread that waits for a batch, or will.

    It may be one of Acme's, in which `SystemExit` ends what it prefetches.
    """
    self._is_stopped = True

  def _next(self) -> Any:
    while True:
      if self._is_stopped:
        raise SystemExit
      try:
        return self._buffer.get(timeout=self._POLL_SECONDS)
      except queue.Empty:
        if self._thread.is_alive():
          continue
      try:
        return self._buffer.get_nowait()
      except queue.Empty:
        raise self._error or StopIteration from None

  def _fetch(self) -> None:
    try:
      for batch in self._dataset:
        self._buffer.put(batch)
    except BaseException as e:
      self._error = e

  def metrics(self) -> dict[str, float]:
    """Returns the seconds that the learner has waited for samples so far."""
    return {metric_names.SAMPLE_WAIT: self._waited_seconds}


class WeightsWatch(finite.Watch):
  """What the learner does about weights that are not finite."""

  def __init__(self, counter: counter_client.Counter, stop: bool):
    """As `finite.Watch`.

    Args:
      counter: of the learner's steps.
      stop: as there.
    """
    super().__init__(stop)
    self._counter = counter

  def where(self) -> str:
    """Says whose weights they are, and at which step."""
    counts = self._counter.known_counts()
    return f'learner/0, after step {counts.get(counter_lib.LEARNER_STEPS, 0):,}'

  def accepts(self, values: Any) -> bool:
    """Returns whether weights, or a learner's state, are finite.

    Raises:
      finite.NonFiniteError: as `take`.
    """
    found = finite.find(values, 'weight')
    if found is not None:
      self.take(f'{self.where()}: the {found}')
    return found is None


class WithLossesWatched(loggers.Logger):
  """A logger that says so, once, when a loss is not finite."""

  _EVERY_SECONDS = 1.0

  def __init__(self, logger: loggers.Logger, where: Callable[[], str]):
    """Wraps a logger.

    Args:
      logger: gets every row.
      where: says whose losses they are, and at which step.
    """
    self._logger = logger
    self._where = where
    self._looked_at = float('-inf')

  def write(self, data: Mapping[str, Any]) -> None:
    # Reading a loss waits for the device that computes it.
    if time.monotonic() - self._looked_at >= self._EVERY_SECONDS:
      self._looked_at = time.monotonic()
      self._look({name: data[name] for name in data if 'loss' in name})
    self._logger.write(data)

  def _look(self, losses: Mapping[str, Any]) -> None:
    found = finite.find(losses)
    if found is not None:
      logging.warning('%s: the loss %s.', self._where(), found)
      self._looked_at = float('inf')

  def close(self) -> None:
    self._logger.close()


class WithMetrics(loggers.Logger):
  """A logger that adds what the sources report to every row."""

  def __init__(
    self,
    logger: loggers.Logger,
    sources: Sequence[Callable[[], Mapping[str, float]]],
  ):
    self._logger = logger
    self._sources = tuple(sources)

  def write(self, data: Mapping[str, Any]) -> None:
    row = dict(data)
    for source in self._sources:
      row.update(source())
    self._logger.write(row)

  def close(self) -> None:
    self._logger.close()
