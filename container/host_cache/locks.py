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

# Seconds between two tries to lock, since a blocking `flock` has no deadline.
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
    timeout: Seconds to wait while another process holds the lock.

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

  Python's garbage collector may close a cache while the same thread holds this
  lock. A wait would then never end, so this yields False, and the next sweep
  removes the cache.

  Args:
    root: The folder that contains the folders of all caches.

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
