"""Locks between the processes of a host, with deadlines.

The kernel frees a lock when its holder dies.
"""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterator

from container.host_cache import own_folder

# A blocking `flock` knows no deadline, so it is tried this often.
_POLL_SECONDS = 0.001
_ROOT_LOCK = '.lock'
# Whether this thread has the lock of a root.
_thread = threading.local()


@contextlib.contextmanager
def locked(
  folder: own_folder.OwnFolder, name: str, timeout: float = 10.0
) -> Iterator[bool]:
  """Holds the lock of a file.

  Args:
    folder: The folder of the file.
    name: The file's name; the file is made if it is missing.
    timeout: Seconds to wait for another holder.

  Yields:
    Whether the lock is held.
  """
  descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
  deadline = time.monotonic() + timeout
  try:
    while True:
      try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
        return
      except BlockingIOError:
        if time.monotonic() > deadline:
          yield False
          return
        time.sleep(_POLL_SECONDS)
  finally:
    os.close(descriptor)


@contextlib.contextmanager
def root_locked(root: own_folder.OwnFolder) -> Iterator[bool]:
  """Holds the lock of all caches in a folder.

  Python may collect a cache while the same thread has the lock, and would wait
  here for itself. Then the lock is not held, and the next sweep removes what
  that cache leaves.

  Args:
    root: The folder that has a folder for each cache.

  Yields:
    Whether the lock is held.
  """
  if getattr(_thread, 'has_root', False):
    yield False
    return
  with locked(root, _ROOT_LOCK) as is_locked:
    _thread.has_root = True
    try:
      yield is_locked
    finally:
      _thread.has_root = False
