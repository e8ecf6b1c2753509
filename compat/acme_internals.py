"""The private parts of dm-acme 0.4.0 that this program opens.

Each function says what Acme offers no public way for.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from acme import adders
from acme.adders.reverb import base, sequence
from acme.agents.jax import actors
from acme.utils import loggers


class PureFunctions(NamedTuple):
  """What a `GenericActor` acts with.

  Attributes:
    init: random key -> state of the policy before an episode's first step.
    select_action: (parameters, observation, state) -> (action, next state).
    get_extras: state -> nest that the adder keeps beside the action.
    random_key: uint32[2], from which the next episode's key is split.
  """

  init: Callable[..., Any]
  select_action: Callable[..., Any]
  get_extras: Callable[..., Any]
  random_key: jax.Array


def pure_functions(actor: actors.GenericActor) -> PureFunctions:
  """Returns the functions that an actor was made of.

  The `ActorCore` that holds them is not kept: the actor has them jitted for the
  CPU, each in a private attribute.
  """
  return PureFunctions(
    actor._init, actor._policy, actor._get_extras, actor._random_key
  )


def parameters(actor: actors.GenericActor) -> Any:
  """Returns the nest of parameters that an actor acts with now."""
  return actor._params


def update_before_episode(actor: actors.GenericActor) -> None:
  """Fetches the newest parameters, if the actor takes them once an episode.

  `GenericActor` does so within `observe_first`, which also resets the actor's
  own state.
  """
  if actor._per_episode_update:
    actor._variable_client.update_and_wait()


def forget_episode(adder: adders.Adder | None) -> None:
  """Has an adder start anew where an episode breaks off.

  Acme's adders have no method for that. Before its action is known a step is
  open in the writer, and `reset` refuses to end an episode there. And a
  `SequenceAdder` that writes on over the end of episodes does nothing in its
  `reset`, so that its base class' is called.

  Args:
    adder: an adder, or None where nothing is recorded.
  """
  if isinstance(adder, base.ReverbAdder) and adder._add_first_called:
    adder._writer.append({})
  if isinstance(adder, sequence.SequenceAdder):
    base.ReverbAdder.reset(adder)
  elif adder is not None:
    adder.reset()


def with_logger(builder: Any, make_logger: Callable[[], loggers.Logger]) -> Any:
  """Returns a copy of a builder, whose learner logs to `make_logger`'s logger.

  `make_learner` of this release has no argument for it: its builders take a
  `logger_fn` when they are made, and keep it as `_logger_fn`. A builder whose
  `logger_fn` makes a logger is returned as it is; Acme's default makes None.

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
