"""The cores and accelerators of each role, such as `learner:gpu=1,cpu=8`."""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping

# A comma belongs to the value unless a new `name=` follows.
_ITEMS = re.compile(r',(?=[\w./-]+=)')
_ROLE = re.compile(r'([A-Za-z_][\w/]*):')


@dataclasses.dataclass(frozen=True)
class Resources:
  """The cores and accelerators that each task of a role gets.

  Attributes:
    cpu: number of cores. The task computes on as many threads.
    gpu: number of accelerators that the task sees.
  """

  cpu: int = 1
  gpu: int = 0


_NAMES = tuple(field.name for field in dataclasses.fields(Resources))
_LEAST = {'cpu': 1, 'gpu': 0}
# No machine has more, so a larger number must be a typing error.
_MOST = {'cpu': 10_000, 'gpu': 1_000}


def parse(text: str) -> dict[str, Resources]:
  """Returns resources by role.

  Args:
    text: such as `learner:gpu=1,cpu=8;actor:cpu=1`; empty for none.

  Raises:
    ValueError: the text is malformed; the message names the role and the error.
  """
  result = {}
  for role, items in split(text).items():
    if role is None:
      raise ValueError(
        f'{text!r} names no role; write it as in '
        'learner:gpu=1,cpu=8;actor:cpu=1'
      )
    result[role] = Resources(
      **{name: _number(role, name, value) for name, value in items.items()}
    )
  return result


def split(text: str) -> dict[str | None, dict[str, str]]:
  """Returns the items of each role, by the role's name.

  Args:
    text: roles, separated by semicolons, with their items `name=value`.

  Returns:
    The value of each item by its name, by role. Items without a role are under
    None.

  Raises:
    ValueError: the text is malformed.
  """
  result: dict[str | None, dict[str, str]] = {}
  for part in filter(None, (part.strip() for part in text.split(';'))):
    match = _ROLE.match(part)
    role = match[1] if match else None
    if role in result:
      raise ValueError(f'{role or "the part without a role"} is there twice')
    text_of_items = part[match.end() :] if match else part
    items = result[role] = {}
    for item in _ITEMS.split(text_of_items):
      name, value = _item(role, item)
      if name in items:
        raise ValueError(f'{_of(role)}{name} is there twice')
      items[name] = value
  return result


def check_roles(named: Iterable[str | None], roles: Iterable[str]) -> None:
  """Checks that a program has certain roles.

  Args:
    named: the roles to check; None passes always.
    roles: the roles of the program.

  Raises:
    ValueError: the program lacks one; the message names the most similar role.
  """
  roles = list(roles)
  for role in named:
    if role is not None and role not in roles:
      raise ValueError(f'there is no role {role!r}; {nearest(role, roles)}')


def thread_env(resources: Resources) -> Mapping[str, str]:
  """Returns the environment variables that limit a task to its cores."""
  threads = str(resources.cpu)
  return {
    'NPROC': threads,  # XLA reads it.
    'OMP_NUM_THREADS': threads,
    'OPENBLAS_NUM_THREADS': threads,
    'TF_NUM_INTEROP_THREADS': threads,
    'TF_NUM_INTRAOP_THREADS': threads,
  }


def nearest(name: str, names: Iterable[str]) -> str:
  """Returns a text that names the most similar of some names to a wrong one."""
  names = list(names)
  (near, *_) = [*difflib.get_close_matches(name, names, 1, 0), names[0]]
  return f'the nearest is {near!r} (of {", ".join(names)})'


def _item(role: str | None, text: str) -> tuple[str, str]:
  name, equals, value = text.strip().partition('=')
  if not equals or not name:
    raise ValueError(f'{_of(role)}expected name=value, got {text!r}')
  return name, value


def _of(role: str | None) -> str:
  return f'{role}: ' if role else ''


def _number(role: str, name: str, value: str) -> int:
  if name not in _NAMES:
    raise ValueError(f'{role}: there is no {name!r}; {nearest(name, _NAMES)}')
  try:
    number = int(value)
  except ValueError:
    number = -1
  if not _LEAST[name] <= number <= _MOST[name]:
    raise ValueError(
      f'{role}: {name} must be a whole number from {_LEAST[name]} to '
      f'{_MOST[name]:,}, got {value!r}'
    )
  return number
