"""What is said of an agent: once, in its own file, as an `Agent`.

An agent's file is read by `launch.py list`, and to tell a wrong setting. Both
should be quick, and Acme takes seconds to import: that is left to `make_parts`.
"""

import dataclasses
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# `acme.specs.EnvironmentSpec`, whose module imports all of Acme.
EnvironmentSpec = Any
# The `Config` of an agent's own file.
Config = Any
# `programs.data.demonstrations.Demonstrations`, which imports Acme too.
Demonstrations = Any


class Actions(enum.Enum):
  """The kinds of actions that an agent may take."""

  # float32[n] in [-1, 1], as `programs.environments` makes them.
  CONTINUOUS = 'continuous'
  # One integer, counted from 0.
  DISCRETE = 'discrete'


class Observations(enum.Enum):
  """The kinds of observations that an agent may take."""

  # Floats of one axis.
  VECTOR = 'vector'
  # Numbers of three axes.
  IMAGE = 'image'
  # A dict or tuple of several arrays.
  NESTED = 'nested'
  # A single array of another dtype than a vector's or of other axes.
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
    """Whether actors of its own can bring its experience."""
    return self is not LearnsFrom.DEMONSTRATIONS

  @property
  def can_be_offline(self) -> bool:
    """Whether recorded episodes alone are enough."""
    return self is not LearnsFrom.ACTORS

  @property
  def needs_demonstrations(self) -> bool:
    """Whether it cannot do without episodes to imitate."""
    return self in (
      LearnsFrom.ACTORS_AND_DEMONSTRATIONS,
      LearnsFrom.DEMONSTRATIONS,
    )


@dataclasses.dataclass(frozen=True)
class AgentParts:
  """What an agent brings to an `ExperimentConfig`, which has the same fields.

  Attributes:
    builder: an Acme builder of either form; see `programs.builders`.
    network_factory: makes the networks from the environment's spec.
    policy_factory: makes the actors' policy; None asks the builder.
    eval_policy_factory: makes the evaluators' policy; None takes the actors'.
    variable_names: what actors ask the learner's `get_variables` for.
  """

  builder: Any
  network_factory: Callable[..., Any]
  policy_factory: Callable[..., Any] | None = None
  eval_policy_factory: Callable[..., Any] | None = None
  variable_names: Sequence[str] = ('policy',)


@dataclasses.dataclass(frozen=True)
class Agent:
  """Describes an agent. Each agent's file has one, as `AGENT`.

  Attributes:
    config_type: the dataclass of its settings, of which each has a default.
    make_parts: makes its parts from an environment's spec, a config and, if it
      needs demonstrations, those.
    actions: the kinds of actions that it takes. None says nothing of them, and
      then none are refused.
    observations: the kinds of observations that it takes, or None likewise.
    learns_from: where its experience comes from.
    check_config: raises `ValueError` for settings that do not go together. What
      one setting alone must keep, its type says; see `shared.limits`.
    make_dataset: makes the batches of the offline program from a config and
      demonstrations. None makes them look like samples from replay.
  """

  config_type: type[Config]
  make_parts: Callable[..., AgentParts]
  actions: tuple[Actions, ...] | None = None
  observations: tuple[Observations, ...] | None = None
  learns_from: LearnsFrom = LearnsFrom.ACTORS_OR_RECORDINGS
  check_config: Callable[[Config], None] = lambda config: None
  make_dataset: Callable[[Config, Demonstrations], Iterator[Any]] | None = None
