"""Requests to a run's launcher for more or fewer tasks, as files.

`launch.py scale` writes a file beside the run's status, so that both are on the
same storage. The launcher takes one request after another, and writes an answer
to each.
"""

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Collection
from typing import Any, NamedTuple

from run_files import whole_files

# Seconds that new tasks may take until they run. Their processes import modules
# first.
SETTLE_SECS = 240.0

_REQUEST, _ANSWER = 'scale-{}.json', 'scaled-{}.json'
_ANY = re.compile(r'scaled?-.+\.json')
_ANY_REQUEST = re.compile(r'scale-(.+)\.json')


class Request(NamedTuple):
  """A request for a number of tasks.

  Attributes:
    label: the role, such as `actor`.
    count: the number of tasks that the role should have.
  """

  label: str
  count: int


def ask(log_dir: str, label: str, count: int) -> str:
  """Asks the launcher of a run for a number of tasks of a role.

  Args:
    log_dir: path of the run's log folder.
    label: the role.
    count: the number of tasks.

  Returns:
    The key of the request, for `answer` and `withdraw`.

  Raises:
    OSError: the file cannot be written.
  """
  # Keys in alphabetical order are in the order of time, too.
  key = f'{time.time_ns():020}-{secrets.token_hex(4)}'
  _write(log_dir, _REQUEST.format(key), {'label': label, 'count': count})
  return key


def answer(log_dir: str, key: str) -> str | None:
  """Returns the answer to a request.

  Returns:
    None if there is no answer yet, '' if the request was carried out, or else
    the reason why it was not.
  """
  found = _read(log_dir, _ANSWER.format(key))
  return None if found is None else found['error']


def withdraw(log_dir: str, key: str) -> None:
  """Removes a request and its answer; a change that has begun goes on."""
  for name in (_REQUEST, _ANSWER):
    with contextlib.suppress(OSError):
      os.remove(os.path.join(log_dir, name.format(key)))


def oldest(log_dir: str, except_for: Collection[str]) -> str | None:
  """Returns the key of the oldest request, or None.

  Args:
    log_dir: path of the run's log folder.
    except_for: the keys of requests to leave out.
  """
  try:
    names = os.listdir(log_dir)
  except OSError:
    return None
  keys = [match[1] for match in map(_ANY_REQUEST.fullmatch, names) if match]
  return min((key for key in keys if key not in except_for), default=None)


def take(log_dir: str, key: str) -> Request | None:
  """Returns a request and removes its file; None if it was withdrawn.

  Raises:
    OSError: the file cannot be read.
    ValueError: the file is not one that `ask` writes.
  """
  try:
    found = _read(log_dir, _REQUEST.format(key))
  finally:
    with contextlib.suppress(OSError):
      os.remove(os.path.join(log_dir, _REQUEST.format(key)))
  if found is None:
    return None
  is_right = isinstance(found, dict) and isinstance(found.get('label'), str)
  if not is_right or type(found.get('count')) is not int or found['count'] < 1:
    raise ValueError(f'this is not a request of `scale`: {found}')
  return Request(found['label'], found['count'])


def reply(log_dir: str, key: str, error: str) -> None:
  """Answers a request.

  Args:
    log_dir: path of the run's log folder.
    key: the key of the request.
    error: why the request was not carried out; empty if it was.
  """
  # If the disk is full, no answer comes. That must not end the run.
  with contextlib.suppress(OSError):
    _write(log_dir, _ANSWER.format(key), {'error': error})


def clear(log_dir: str) -> None:
  """Removes all requests and answers that an earlier launcher has left."""
  for name in filter(_ANY.fullmatch, os.listdir(log_dir)):
    with contextlib.suppress(OSError):
      os.remove(os.path.join(log_dir, name))


def _write(log_dir: str, name: str, content: dict[str, Any]) -> None:
  whole_files.write(
    os.path.join(log_dir, name), json.dumps(content), durable=False
  )


def _read(log_dir: str, name: str) -> Any:
  try:
    with open(os.path.join(log_dir, name)) as f:
      return json.load(f)
  except FileNotFoundError:
    return None
