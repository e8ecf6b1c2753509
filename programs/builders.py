"""One interface for builders and policies of Acme's two forms.

In dm-acme 0.4.0, the last release, the methods of a builder and a policy
factory take fewer arguments than in the later code of Acme's repository. This
program calls the later form. Builders of the released form are adapted to it.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from compat import acme_internals

import jax
import reverb
from acme import adders, core, specs
from acme.utils import counting, loggers

from programs import factories
from replay import batch_adders


class Builder(Protocol):
  """Makes the parts of an agent, as Acme's later `ActorLearnerBuilder` does."""

  def make_replay_tables(
    self, environment_spec: specs.EnvironmentSpec, policy: factories.Policy
  ) -> Sequence[reverb.Table]:
    """Returns the replay server's tables."""

  def make_dataset_iterator(self, replay_client: reverb.Client) -> Iterator:
    """Returns the learner's batches; each one is a `reverb.ReplaySample`."""

  def make_adder(
    self,
    replay_client: reverb.Client,
    environment_spec: specs.EnvironmentSpec | None,
    policy: factories.Policy | None,
  ) -> adders.Adder | None:
    """Returns the adder that records an actor's steps, or None."""

  def make_actor(
    self,
    random_key: jax.Array,
    policy: factories.Policy,
    environment_spec: specs.EnvironmentSpec,
    variable_source: core.VariableSource | None = None,
    adder: adders.Adder | None = None,
  ) -> core.Actor:
    """Returns an actor; without an adder it records nothing."""

  def make_learner(
    self,
    random_key: jax.Array,
    networks: factories.Networks,
    dataset: Iterator,
    logger_fn: Callable[..., loggers.Logger],
    environment_spec: specs.EnvironmentSpec,
    replay_client: reverb.Client | None = None,
    counter: counting.Counter | None = None,
  ) -> core.Learner:
    """Returns a learner.

    Args:
      random_key: uint32[2].
      networks: the networks that the network factory made.
      dataset: the batches, as `make_dataset_iterator` returns them.
      logger_fn: makes the learner's logger from (label, steps_key, task_id).
      environment_spec: the spec of the environment.
      replay_client: for agents that change priorities in replay.
      counter: counts the learner's steps.
    """


def adapt(builder: Any) -> Builder:
  """Returns a builder of the later form.

  Args:
    builder: a builder of either form. It is of the later form if its
      `make_actor` takes an `environment_spec`; otherwise it is adapted.
  """
  if 'environment_spec' in inspect.signature(builder.make_actor).parameters:
    return builder
  return ReleasedFormBuilder(builder)


class ReleasedFormBuilder:
  """Has the later form's methods, and calls a builder of dm-acme 0.4.0."""

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


def make_batch_adder(
  builder: Builder,
  replay_client: reverb.Client,
  environment_spec: specs.EnvironmentSpec,
  policy: factories.Policy,
  number: int,
) -> batch_adders.BatchAdder:
  """Returns what records the steps of an actor with several environments.

  Args:
    builder: a builder. If it has a method `make_batch_adder`, which takes the
      replay client and the number, its adder records all steps at once.
    replay_client: a client of the replay server.
    environment_spec: the spec of the environments.
    policy: the actor's policy.
    number: the number of environments.
  """
  if hasattr(builder, 'make_batch_adder'):
    return builder.make_batch_adder(replay_client, number)
  return batch_adders.LaneAdders(
    [
      builder.make_adder(replay_client, environment_spec, policy)
      for _ in range(number)
    ]
  )


def make_actor_of_either_form(
  builder: Builder, get_environment_spec: Callable[[], specs.EnvironmentSpec]
) -> factories.ActorFactory:
  """Returns the `make_actor` function that evaluator factories call.

  A factory of Acme's released form calls it with `(random_key, policy,
  variable_source)`. A factory of the later form calls it with `(random_key,
  policy, environment_spec, variable_source)`.

  Args:
    builder: makes the actor.
    get_environment_spec: returns the spec for a caller that passes none.
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


def call_policy_factory(
  factory: Callable[..., factories.Policy],
  networks: factories.Networks,
  environment_spec: specs.EnvironmentSpec,
  evaluation: bool,
) -> factories.Policy:
  """Calls a policy factory with the arguments that it takes.

  Args:
    factory: takes only the networks, as in Acme's released form, or also some
      of the later form's arguments.
    networks: the networks that the network factory made.
    environment_spec: the spec of the environment to act in.
    evaluation: whether the policy is an evaluator's, which does not explore.
  """
  parameters = inspect.signature(factory).parameters
  if len(parameters) > 2:
    return factory(networks, environment_spec, evaluation)
  known = {'environment_spec': environment_spec, 'evaluation': evaluation}
  return factory(
    networks, **{name: known[name] for name in known if name in parameters}
  )
