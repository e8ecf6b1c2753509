"""The signatures of the factories from which an experiment makes its parts.

A factory can be any callable with the signature: a function as well as a class.
"""

from typing import Any, Protocol

import compat  # noqa: F401

import dm_env
import jax
from acme import core, specs
from acme.utils import counting, loggers

Networks = Any
Policy = Any


class EnvironmentFactory(Protocol):
  """Makes an environment."""

  def __call__(self, seed: int) -> dm_env.Environment:
    """Returns a new environment.

    Args:
      seed: a uint32 that seeds the environment's random numbers.
    """


class NetworkFactory(Protocol):
  """Makes an agent's networks."""

  def __call__(self, environment_spec: specs.EnvironmentSpec) -> Networks:
    """Returns the networks as functions; they hold no parameters."""


class PolicyFactory(Protocol):
  """Makes a policy.

  In Acme's released form it takes only the networks.
  `builders.call_policy_factory` can call both forms.
  """

  def __call__(
    self,
    networks: Networks,
    environment_spec: specs.EnvironmentSpec,
    evaluation: bool,
  ) -> Policy:
    """Returns the policy.

    Args:
      networks: the networks that the network factory made.
      environment_spec: the spec of the environment to act in.
      evaluation: whether the policy is an evaluator's, which does not explore.
    """


class LoggerFactory(Protocol):
  """Makes the logger of one process."""

  def __call__(
    self, label: str, steps_key: str | None = None, task_id: int = 0
  ) -> loggers.Logger:
    """Returns a logger.

    Args:
      label: the process's group in the program, such as `actor`.
      steps_key: the column that counts steps, such as `actor_steps`.
      task_id: the process's index in its group, from 0.
    """


class ActorFactory(Protocol):
  """Makes an actor that records nothing, for an evaluator."""

  def __call__(
    self,
    random_key: jax.Array,
    policy: Policy,
    environment_spec: specs.EnvironmentSpec,
    variable_source: core.VariableSource,
  ) -> core.Actor:
    """Returns the actor.

    Args:
      random_key: uint32[2].
      policy: the policy that the policy factory made.
      environment_spec: the spec of the environment. A caller may leave it out,
        as in Acme's released form.
      variable_source: the source of the actor's parameters.
    """


class EvaluatorFactory(Protocol):
  """Makes the loop of one evaluator."""

  def __call__(
    self,
    random_key: jax.Array,
    variable_source: core.VariableSource,
    counter: counting.Counter,
    make_actor: ActorFactory,
  ) -> core.Worker:
    """Returns a worker that evaluates when its `run` is called.

    Args:
      random_key: uint32[2].
      variable_source: the source of the newest parameters.
      counter: a client of the program's counter.
      make_actor: makes the actor that plays the evaluation.
    """


def default_logger_factory(
  label: str, steps_key: str | None = None, task_id: int = 0
) -> loggers.Logger:
  """Returns a logger that prints a line a second and keeps nothing."""
  return loggers.make_default_logger(
    f'{label}/{task_id}', save_data=False, print_fn=print
  )
