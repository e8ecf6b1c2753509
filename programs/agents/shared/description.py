"""The description of an agent, which each agent's file contains: an `Agent`.

`launch.py list` and the check of the settings import the agents' files. Both
should be quick, and Acme takes seconds to import. So an agent's file imports
Acme only in `make_parts`.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# Stands for `acme.specs.EnvironmentSpec`, whose module imports all of Acme.
EnvironmentSpec = Any
# Stands for the `Config` of an agent's file.
Config = Any
# Stands for `programs.data.demonstrations.Demonstrations`, whose module imports
# Acme too.
Demonstrations = Any


class Actions(enum.Enum):
  """The kinds of actions that an agent may take."""

  # float32[n] in [-1, 1]; `programs.environments` scales actions to this form.
  CONTINUOUS = 'continuous'
  # One integer, counted from 0.
  DISCRETE = 'discrete'


class Observations(enum.Enum):
  """The kinds of observations that an agent may take."""

  # An array of floats with one axis.
  VECTOR = 'vector'
  # An array of numbers with three axes.
  IMAGE = 'image'
  # A dict or tuple of several arrays.
  NESTED = 'nested'
  # A single array with another dtype or number of axes.
  OTHER = 'other'


ANY_ACTIONS = tuple(Actions)
ANY_OBSERVATIONS = tuple(Observations)


class LearnsFrom(enum.Enum):
  """Where an agent's experience comes from, in the words of the verb `list`."""

  ACTORS = 'its actors'
  # The offline program's batches are like those from replay.
  ACTORS_OR_RECORDINGS = 'its actors; also with --program=offline'
  # It imitates demonstrations, with its own actors or recorded ones.
  ACTORS_AND_DEMONSTRATIONS = (
    'its actors, imitating --demonstrations; also with --program=offline'
  )
  # It has no actors.
  DEMONSTRATIONS = '--demonstrations'

  @property
  def has_actors(self) -> bool:
    """Whether it can learn from its own actors."""
    return self is not LearnsFrom.DEMONSTRATIONS

  @property
  def can_be_offline(self) -> bool:
    """Whether recorded episodes alone are enough."""
    return self is not LearnsFrom.ACTORS

  @property
  def needs_demonstrations(self) -> bool:
    """Whether it needs episodes to imitate."""
    return self in (
      LearnsFrom.ACTORS_AND_DEMONSTRATIONS,
      LearnsFrom.DEMONSTRATIONS,
    )


@dataclasses.dataclass(frozen=True)
class AgentParts:
  """The agent's fields of an `ExperimentConfig`, by the same names.

  Attributes:
    builder: an Acme builder of either form; see `programs.builders`.
    network_factory: makes the networks from the environment's spec.
    policy_factory: makes the actors' policy from the networks. If it is None,
      the builder makes the policies.
    eval_policy_factory: makes the evaluators' policy from the networks. If it
      is None, evaluators use the actors' policy.
    variable_names: the names that actors give to the learner's
      `get_variables`.
  """

  builder: Any
  network_factory: Callable[..., Any]
  policy_factory: Callable[..., Any] | None = None
  eval_policy_factory: Callable[..., Any] | None = None
  variable_names: Sequence[str] = ('policy',)


@dataclasses.dataclass(frozen=True)
class Agent:
  """Describes an agent. Each agent's file has one, named `AGENT`.

  Attributes:
    config_type: the dataclass of its settings. Each of them has a default.
    make_parts: makes its parts from an environment's spec, a config and, if the
      agent needs them, demonstrations.
    actions: the kinds of actions that it takes. If it is None, no actions are
      refused.
    observations: the kinds of observations that it takes. If it is None, no
      observations are refused.
    learns_from: where its experience comes from.
    check_config: raises `ValueError` for settings that do not go together. The
      limits of a single setting are in its type; see `shared.limits`.
    make_dataset: makes the batches of the offline program from a config and
      demonstrations. If it is None, the batches look like samples from replay.
  """

  config_type: type[Config]
  make_parts: Callable[..., AgentParts]
  actions: tuple[Actions, ...] | None = None
  observations: tuple[Observations, ...] | None = None
  learns_from: LearnsFrom = LearnsFrom.ACTORS_OR_RECORDINGS
  check_config: Callable[[Config], None] = lambda config: None
  make_dataset: Callable[[Config, Demonstrations], Iterator[Any]] | None = None
