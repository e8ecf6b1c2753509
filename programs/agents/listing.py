"""Tables of the agents and of their settings, made from their descriptions."""

import dataclasses
import enum
import inspect
import re
import typing
from collections.abc import Sequence
from typing import NamedTuple

from programs import agents
from programs.agents.shared import description, overrides

# The first line of an attribute in a docstring: `  tau: share of the weights`.
_ATTRIBUTE = re.compile(r'^  (\w+): ')


class AgentRow(NamedTuple):
  """An agent's line in the table of agents.

  Attributes:
    name: the value of `--agent`.
    actions: the kinds of actions that it takes, such as 'continuous'.
    observations: the kinds of observations that it takes, or 'any'.
    learns_from: where its experience comes from.
  """

  name: str
  actions: str
  observations: str
  learns_from: str


class SettingRow(NamedTuple):
  """A setting's line in the table of an agent's settings.

  Attributes:
    name: the setting's name in `--config`.
    type: the type of its values, such as 'float'.
    default: its value if it is not set, as it is written in `--config`.
    meaning: its description, from the `Attributes:` of its class.
  """

  name: str
  type: str
  default: str
  meaning: str


def rows(names: Sequence[str] = agents.AGENTS) -> list[AgentRow]:
  """Returns a row for each agent.

  Args:
    names: names in `agents.AGENTS`, or `module:package.module`.
  """
  return [_row(name, agents.find(name)) for name in names]


def _row(name: str, agent: description.Agent) -> AgentRow:
  return AgentRow(
    name,
    _kinds(agent.actions),
    _kinds(agent.observations),
    agent.learns_from.value,
  )


def _kinds(kinds: Sequence[enum.Enum] | None) -> str:
  if kinds in (None, description.ANY_OBSERVATIONS):
    return 'any'
  return ' or '.join(kind.value for kind in kinds)


def text(names: Sequence[str] = agents.AGENTS) -> str:
  """Returns the table that `launch.py list` prints."""
  titles = AgentRow('agent', 'actions', 'observations', 'learns from')
  return '\n'.join(
    f'{row.name:<12}{row.actions:<25}{row.observations:<18}{row.learns_from}'
    for row in [titles, *rows(names)]
  )


def settings(name: str) -> list[SettingRow]:
  """Returns a row for each setting of an agent.

  Args:
    name: one of `agents.AGENTS`, or `module:package.module`.
  """
  config_type = agents.find(name).config_type
  types = typing.get_type_hints(config_type)
  meanings = _meanings(config_type)
  default = config_type()
  return [
    SettingRow(
      field.name,
      overrides.describe(types[field.name]),
      str(getattr(default, field.name)),
      meanings.get(field.name, ''),
    )
    for field in dataclasses.fields(config_type)
  ]


def _meanings(config_type: type) -> dict[str, str]:
  """Returns the texts in the `Attributes:` of a class and of its bases."""
  meanings = {}
  for base in reversed(config_type.__mro__):
    _, _, attributes = (inspect.cleandoc(base.__doc__ or '')).partition(
      'Attributes:\n'
    )
    name = None
    for line in attributes.splitlines():
      if match := _ATTRIBUTE.match(line):
        name = match.group(1)
        meanings[name] = line[match.end() :]
      elif name:
        meanings[name] += f' {line.strip()}'
  return meanings
