"""One builder interface; Acme's released form is adapted to it.

dm-acme 0.4.0, the last release, and the repository's later code disagree about
what a builder's methods take. The nodes speak the later form, which tells more.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from compat import acme_internals

import jax
import reverb
from acme import adders, core, specs
from acme.utils import counting, loggers

Networks = Any
Policy = Any


class Builder(Protocol):
  """Makes the parts of an agent: Acme's later `ActorLearnerBuilder`."""

  def make_replay_tables(
    self, environment_spec: specs.EnvironmentSpec, policy: Policy
  ) -> Sequence[reverb.Table]:
    """Returns the replay server's tables."""

  def make_dataset_iterator(self, replay_client: reverb.Client) -> Iterator:
    """Returns the learner's batches."""

  def make_adder(
    self,
    replay_client: reverb.Client,
    environment_spec: specs.EnvironmentSpec | None,
    policy: Policy | None,
  ) -> adders.Adder | None:
    """Returns what records an actor's steps."""

  def make_actor(
    self,
    random_key: jax.Array,
    policy: Policy,
    environment_spec: specs.EnvironmentSpec,
    variable_source: core.VariableSource | None = None,
    adder: adders.Adder | None = None,
  ) -> core.Actor:
    """Returns an actor; without an adder it records nothing."""

  def make_learner(
    self,
    random_key: jax.Array,
    networks: Networks,
    dataset: Iterator,
    logger_fn: Callable[..., loggers.Logger],
    environment_spec: specs.EnvironmentSpec,
    replay_client: reverb.Client | None = None,
    counter: counting.Counter | None = None,
  ) -> core.Learner:
    """Returns a learner; `logger_fn(label, steps_key, task_id)` its logger."""


def adapt(builder: Any) -> Builder:
  """Returns `builder` in the later form, whichever form it is of."""
  if 'environment_spec' in inspect.signature(builder.make_actor).parameters:
    return builder
  return ReleasedFormBuilder(builder)


class ReleasedFormBuilder:
  """A builder of dm-acme 0.4.0's form, called in the later one."""

  def __init__(self, builder: Any):
    self._builder = builder

  def make_replay_tables(self, environment_spec, policy):
    return self._builder.make_replay_tables(environment_spec)

  def make_dataset_iterator(self, replay_client):
    return self._builder.make_dataset_iterator(replay_client)

  def make_adder(self, replay_client, environment_spec, policy):
    return self._builder.make_adder(replay_client)

  def make_actor(
    self,
    random_key,
    policy,
    environment_spec,
    variable_source=None,
    adder=None,
  ):
    return self._builder.make_actor(
      random_key, policy, adder=adder, variable_source=variable_source
    )

  def make_learner(
    self,
    random_key,
    networks,
    dataset,
    logger_fn,
    environment_spec,
    replay_client=None,
    counter=None,
  ):
    builder = acme_internals.with_logger(
      self._builder, lambda: logger_fn('learner', 'learner_steps', 0)
    )
    return builder.make_learner(
      random_key, networks, dataset, replay_client, counter
    )


def make_actor_of_either_form(
  builder: Builder, get_environment_spec: Callable[[], specs.EnvironmentSpec]
) -> Callable[..., core.Actor]:
  """Returns the `make_actor` that evaluator factories are given.

  They call it as `(random_key, policy, variable_source)`, Acme's released form,
  or as `(random_key, policy, environment_spec, variable_source)`, the later.

  Args:
    builder: makes the actor.
    get_environment_spec: asked when the caller gave none.
  """

  def make_actor(
    random_key, policy, environment_spec=None, variable_source=None
  ):
    if variable_source is None:
      environment_spec, variable_source = None, environment_spec
    if environment_spec is None:
      environment_spec = get_environment_spec()
    return builder.make_actor(
      random_key, policy, environment_spec, variable_source
    )

  return make_actor
