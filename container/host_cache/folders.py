"""Makes, shares and removes the folders of caches.

A cache's folder is named after the identity that a Reverb server draws when it
starts. So two runs never share a cache, even if one takes the other's port.
Each process that uses a folder holds a shared lock on it. The last process to
leave removes the folder, and the next program on the host removes what a crash
has left.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import re
import tempfile

from absl import logging

from container.host_cache import locks, own_folder

CURRENT = 'current'
_CACHE_NAME = re.compile('[0-9a-f]*-[0-9a-f]*')


def default_root() -> pathlib.Path:
  """Returns this user's folder for caches, in /dev/shm if that is writable."""
  shared = pathlib.Path('/dev/shm')
  is_usable = shared.is_dir() and os.access(shared, os.W_OK)
  parent = shared if is_usable else pathlib.Path(tempfile.gettempdir())
  return parent / f'launchpad_rl-{os.geteuid()}'


def sweep(root: pathlib.Path | None = None) -> None:
  """Removes the caches that crashed programs have left.

  Args:
    root: The folder that contains the folders of all caches; None for the
      default one of this user.
  """
  root = root or default_root()
  try:
    with (
      contextlib.closing(own_folder.OwnFolder(root, make=False)) as folder,
      locks.root_locked(folder) as is_locked,
    ):
      if is_locked:
        _sweep(folder)
  except FileNotFoundError:
    return
  except OSError as error:
    logging.warning('Cannot remove old caches from %s: %s.', root, error)


def join(
  root: pathlib.Path | None, identity: bytes, table_name: str, address: str
) -> tuple[own_folder.OwnFolder, own_folder.OwnFolder]:
  """Opens the folder of a cache, and makes it if this process is the first.

  Args:
    root: The folder that contains the folders of all caches; None for the
      default one of this user.
    identity: The server's identity.
    table_name: The table's name.
    address: The server's address. Caches of servers that had this address
      before are retired.

  Returns:
    The root, and the cache's folder, which stays locked until it is closed.

  Raises:
    OSError: this process may not write there, or the folder belongs to another
      user.
  """
  name = f'{identity.hex()}-{table_name.encode().hex()}'
  with contextlib.ExitStack() as stack:
    parent = own_folder.OwnFolder(root or default_root())
    stack.callback(parent.close)
    with locks.root_locked(parent) as is_locked:
      if not is_locked:
        raise TimeoutError(f'Another process holds the lock of {parent.path}')
      _sweep(parent)
      folder = own_folder.OwnFolder(name, parent)
      stack.callback(folder.close)
      fcntl.flock(folder.descriptor, fcntl.LOCK_SH)
      _retire_others(parent, name, folder, address)
    stack.pop_all()
  return parent, folder


def leave(root: own_folder.OwnFolder, folder: own_folder.OwnFolder) -> None:
  """Closes the folders of `join`; the last process removes the cache's one."""
  folder.close()
  with (
    contextlib.closing(root),
    contextlib.suppress(OSError),
    locks.root_locked(root) as is_locked,
  ):
    if is_locked:
      _remove_if_unused(root, os.path.basename(folder.path))


def _sweep(root: own_folder.OwnFolder) -> None:
  for name in root.names():
    _remove_if_unused(root, name)


def _remove_if_unused(root: own_folder.OwnFolder, name: str) -> None:
  """Removes a cache that no process has locked; needs the root's lock."""
  # A file with a name of another form was not made by this program.
  if _CACHE_NAME.fullmatch(name) is None:
    return
  with (
    contextlib.suppress(OSError),
    contextlib.closing(own_folder.OwnFolder(name, root, make=False)) as folder,
  ):
    fcntl.flock(folder.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for inner in folder.names():
      folder.unlink(inner)
    root.rmdir(name)


def _retire_others(
  root: own_folder.OwnFolder,
  name: str,
  folder: own_folder.OwnFolder,
  address: str,
) -> None:
  """Retires the caches of servers that had the address before this one."""
  mark = f'at-{hashlib.sha256(address.encode()).hexdigest()[:16]}'
  os.close(folder.open(mark, os.O_WRONLY | os.O_CREAT))
  table = name.partition('-')[2]
  for other in root.names():
    if other == name or other.partition('-')[2] != table:
      continue
    with (
      contextlib.suppress(OSError),
      contextlib.closing(
        own_folder.OwnFolder(other, root, make=False)
      ) as found,
    ):
      found.stat(mark)
      found.unlink(CURRENT)
