"""Advice for a user who has reached the limit of processes and threads.

Every process of a program has about a hundred threads. If the system refuses a
thread, libraries fail in many different ways.
"""

import errno
import resource
from collections.abc import Iterable

_SIGNS = (
  "can't start new thread",
  'pthread_create',
  f'[Errno {errno.EAGAIN}] Resource temporarily unavailable',
  'fork: Resource temporarily unavailable',
)


def is_sign(line: str) -> bool:
  """Returns whether a line of output says that a thread was refused."""
  return any(sign in line for sign in _SIGNS)


def advice(lines: Iterable[str]) -> list[str]:
  """Returns the advice if one of the lines says that a thread was refused."""
  if not any(map(is_sign, lines)):
    return []
  limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
  most = '' if limit == resource.RLIM_INFINITY else f' ({limit:,} here)'
  return [
    'The system refused a process or thread. Raise the limit of this user'
    f'{most}, with `ulimit -u` or in the settings of the container, or run '
    'fewer tasks.'
  ]
