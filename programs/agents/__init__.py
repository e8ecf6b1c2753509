"""The agents that `launch.py --agent` knows: a file each, imported when asked.

Each file has `make_agent(environment_spec, config) -> AgentParts`; the configs
are in `configs`.
"""

import dataclasses
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from programs.agents import configs, overrides

AGENTS = tuple(configs.CONFIGS)


@dataclasses.dataclass(frozen=True)
class AgentParts:
  """What an agent brings to an `ExperimentConfig`; fields as there.

  Attributes:
    builder: an Acme builder of either form.
    network_factory: makes the networks from the environment's spec.
    policy_factory: makes the actors' policy.
    eval_policy_factory: makes the evaluators' policy.
    variable_names: what actors ask the learner's `get_variables` for.
  """

  builder: Any
  network_factory: Callable[..., Any]
  policy_factory: Callable[..., Any] | None = None
  eval_policy_factory: Callable[..., Any] | None = None
  variable_names: Sequence[str] = ('policy',)


def make_config(name: str, settings: str = '') -> Any:
  """Returns an agent's config.

  Args:
    name: one of `AGENTS`.
    settings: fields that are not the default, as `overrides.apply` takes them.

  Raises:
    ValueError: there is no such agent, or it has no such settings.
  """
  _check(name)
  return overrides.apply(configs.CONFIGS[name](), settings)


def make_agent(
  name: str, environment_spec: Any, config: Any = None
) -> AgentParts:
  """Imports the agent's module and returns its parts.

  Args:
    name: one of `AGENTS`.
    environment_spec: an `acme.specs.EnvironmentSpec`.
    config: the agent's, from `make_config`; None is its default.

  Raises:
    ValueError: there is no such agent, or it cannot act in such an environment.
  """
  _check(name)
  module = importlib.import_module(f'programs.agents.{name}')
  return module.make_agent(environment_spec, config)


def _check(name: str) -> None:
  if name not in AGENTS:
    raise ValueError(f'unknown agent {name!r}; known: {", ".join(AGENTS)}')
