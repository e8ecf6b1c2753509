"""Reads an agent's settings from a text: `learning_rate=3e-4,n_step=3`."""

import ast
import dataclasses
import difflib
import math
import typing
from typing import Any, TypeVar

from programs import own_modules
from programs.agents.shared import limits
from run_files import assignments

Config = TypeVar('Config')


def apply(config: Config, text: str) -> Config:
  """Returns a config with some of its fields replaced.

  Args:
    config: a dataclass.
    text: items of the form `field=value`, with commas in between. Values are
      written as in Python. A string of one word needs no quotes.

  Raises:
    OwnCodeError: the code of a user's own config raised an error.
    ValueError: the text is not of that form, a field does not exist, or a value
      is not of the field's type.
  """
  with own_modules.own_code(f'the types of {type(config).__name__}'):
    types = typing.get_type_hints(type(config))
    limited = limits.limits_of(type(config))
  names = [field.name for field in dataclasses.fields(config)]
  changes = {}
  for name, equals, value in assignments.split(text):
    if not equals:
      raise ValueError(f'{name!r} is not of the form field=value')
    if not names:
      raise ValueError(f'there is no {name!r}: the agent has no settings')
    if name not in names:
      (near, *_) = [*difflib.get_close_matches(name, names, 1, 0), names[0]]
      raise ValueError(
        f'there is no {name!r}; the nearest is {near!r} '
        f'({describe(types[near])}). All: {", ".join(names)}'
      )
    if name in changes:
      raise ValueError(f'{name} is given twice')
    changes[name] = _value(name, value, types[name])
    _check_sense(name, changes[name], name in limited)
  with own_modules.own_code(type(config).__name__):
    return dataclasses.replace(config, **changes)


def _value(name: str, text: str, kind: Any) -> Any:
  try:
    value = ast.literal_eval(text)
  except (SyntaxError, ValueError):
    value = text
  options = typing.get_args(kind) if _is_union(kind) else (kind,)
  for option in options:
    if option is float and type(value) is int:
      return float(value)
    if _fits(value, option):
      return value
  raise ValueError(f'{name} is {describe(kind)}, not {text!r}')


def _check_sense(name: str, value: Any, has_limits: bool) -> None:
  """Raises `ValueError` for a number that makes no sense for a setting.

  Args:
    name: the setting's name.
    value: the setting's value.
    has_limits: whether the setting's type has limits, which are checked later.
  """
  if isinstance(value, float) and not math.isfinite(value):
    raise ValueError(f'{name} is a number, not {value}')
  # A whole number counts something, unless its type says otherwise.
  if type(value) is int and value < 1 and not has_limits:
    raise ValueError(f'{name} counts something, and cannot be {value}')


def _is_union(kind: Any) -> bool:
  return not isinstance(kind, type) and typing.get_origin(kind) is not tuple


def _fits(value: Any, kind: Any) -> bool:
  if typing.get_origin(kind) is tuple:
    item, _ = typing.get_args(kind)
    return isinstance(value, tuple) and all(_fits(v, item) for v in value)
  # A bool is an int to `isinstance`.
  return type(value) is kind


def describe(kind: Any) -> str:
  """Returns a type as it is written in Python."""
  return kind.__name__ if type(kind) is type else str(kind)
