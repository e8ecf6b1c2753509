"""Settings of an agent from the command line: `learning_rate=3e-4,n_step=3`."""

import ast
import dataclasses
import difflib
import math
import re
import typing
from typing import Any, TypeVar

from programs import own_modules

Config = TypeVar('Config')

_MAY_BE_0 = ('burn_in_length',)
# A comma between settings is followed by a name and an equals sign.
_BETWEEN = re.compile(r',(?=\s*\w+\s*=)')


def split(text: str) -> list[tuple[str, str, str]]:
  """Returns the settings in a text: name, equals sign or nothing, and value."""
  settings = filter(None, map(str.strip, _BETWEEN.split(text)))
  return [
    tuple(part.strip() for part in setting.partition('='))
    for setting in settings
  ]


def apply(config: Config, text: str) -> Config:
  """Returns a config with some of its fields replaced.

  Args:
    config: a dataclass.
    text: `field=value` and so on, with commas between; values as in Python, a
      text without quotes if it is one word.

  Raises:
    OwnCodeError: the config's own code raised.
    ValueError: it is not of that form, there is no such field, or a value is
      not of the field's type.
  """
  with own_modules.own_code(f'the types of {type(config).__name__}'):
    types = typing.get_type_hints(type(config))
  names = [field.name for field in dataclasses.fields(config)]
  changes = {}
  for name, equals, value in split(text):
    if not equals:
      raise ValueError(f'{name!r} is not of the form field=value')
    if not names:
      raise ValueError(f'there is no {name!r}: the agent has no settings')
    if name not in names:
      (near, *_) = [*difflib.get_close_matches(name, names, 1, 0), names[0]]
      raise ValueError(
        f'there is no {name!r}; the nearest is {near!r} '
        f'({_describe(types[near])}). All: {", ".join(names)}'
      )
    if name in changes:
      raise ValueError(f'{name} is given twice')
    changes[name] = _value(name, value, types[name])
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
      _check_sense(name, value)
      return value
  raise ValueError(f'{name} is {_describe(kind)}, not {text!r}')


def _check_sense(name: str, value: Any) -> None:
  """Raises `ValueError` for a number that no setting can have."""
  if isinstance(value, float) and not math.isfinite(value):
    raise ValueError(f'{name} is a number, not {value}')
  # All whole numbers are counts.
  if type(value) is int and value < (0 if name in _MAY_BE_0 else 1):
    raise ValueError(f'{name} counts something, and cannot be {value}')


def _is_union(kind: Any) -> bool:
  return not isinstance(kind, type) and typing.get_origin(kind) is not tuple


def _fits(value: Any, kind: Any) -> bool:
  if typing.get_origin(kind) is tuple:
    item, _ = typing.get_args(kind)
    return isinstance(value, tuple) and all(_fits(v, item) for v in value)
  # A bool is an int to `isinstance`.
  return type(value) is kind


def _describe(kind: Any) -> str:
  return kind.__name__ if type(kind) is type else str(kind)
