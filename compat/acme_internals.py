"""The private parts of dm-acme 0.4.0 that this program uses.

Each function's docstring says for what Acme has no public way.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from acme import adders, core
from acme.adders.reverb import base, sequence
from acme.agents.jax import actors
from acme.jax import variable_utils
from acme.utils import loggers


class PureFunctions(NamedTuple):
  """The functions and the random key with which a `GenericActor` acts.

  Attributes:
    init: random key -> state of the policy before an episode's first step.
    select_action: (parameters, observation, state) -> (action, next state).
    get_extras: state -> extras, the nest that the adder stores with the action.
    random_key: uint32[2], from which the next episode's key is split.
  """

  init: Callable[..., Any]
  select_action: Callable[..., Any]
  get_extras: Callable[..., Any]
  random_key: jax.Array


def pure_functions(actor: actors.GenericActor) -> PureFunctions:
  """Returns the functions that an actor was made from.

  The actor does not keep the `ActorCore` that holds them. It keeps each of them
  in a private attribute, jitted for the CPU.
  """
  return PureFunctions(
    actor._init, actor._policy, actor._get_extras, actor._random_key
  )


def parameters(actor: actors.GenericActor) -> Any:
  """Returns the nest of parameters that an actor acts with now."""
  return actor._params


def update_before_episode(actor: actors.GenericActor) -> None:
  """Fetches the newest parameters, if the actor does that once per episode.

  `GenericActor` fetches them in `observe_first`. That cannot be called here,
  since it also resets the actor's own state.
  """
  if actor._per_episode_update:
    actor._variable_client.update_and_wait()


class _NothingFetched:
  """Stands for a fetch that has ended and brought nothing."""

  def done(self) -> bool:
    return True

  def running(self) -> bool:
    return False

  def add_done_callback(self, callback: Any) -> None:
    pass


def fetch_only_news(actor: core.Actor, has_news: Callable[[], bool]) -> None:
  """Makes an actor leave out fetches that would bring the same parameters.

  Acme's `VariableClient` starts a thread's work for each fetch, and moves the
  parameters to the device even if they are the same as before. That would take
  longer than the policy itself.

  Args:
    actor: an actor; nothing changes unless it has a `VariableClient`.
    has_news: says whether a fetch may bring others than the fetch before.
  """
  client = getattr(actor, '_variable_client', None)
  if not isinstance(client, variable_utils.VariableClient):
    return
  fetch = client._async_request
  client._async_request = lambda: fetch() if has_news() else _NothingFetched()


def forget_episode(adder: adders.Adder | None) -> None:
  """Resets an adder in the middle of an episode.

  Acme's adders have no method for this. As long as the action of a step is not
  known, the step is open in the writer, and `reset` refuses to end the episode.
  So the step is closed first. Also, `SequenceAdder.reset` does nothing if its
  sequences may continue over the end of an episode. So the `reset` of its base
  class is called instead.

  Args:
    adder: an adder, or None if nothing is recorded.
  """
  if isinstance(adder, base.ReverbAdder) and adder._add_first_called:
    adder._writer.append({})
  if isinstance(adder, sequence.SequenceAdder):
    base.ReverbAdder.reset(adder)
  elif adder is not None:
    adder.reset()


def with_logger(builder: Any, make_logger: Callable[[], loggers.Logger]) -> Any:
  """Returns a copy of a builder whose learner logs to `make_logger`'s logger.

  In this release `make_learner` takes no logger. A builder takes a `logger_fn`
  when it is made, and keeps it as `_logger_fn`. If that function returns a
  logger, the builder is returned as it is. Acme's default returns None.

  Args:
    builder: a builder of the released form.
    make_logger: makes the learner's logger.
  """
  own = getattr(builder, '_logger_fn', None)
  if own is None or own() is not None:
    return builder
  builder = copy.copy(builder)
  builder._logger_fn = make_logger
  return builder
