"""Private folders of this user, in folders where every user may write.

In /dev/shm and in the temporary folder, another user may have put a link under
any name that can be guessed. So no link is followed and no path is looked up
twice. A folder is opened once and checked, and the files in it are then opened
relative to its descriptor.
"""

import contextlib
import os
import stat

_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC


class OwnFolder:
  """An open folder to which only this user has access.

  Attributes:
    path: The folder's path, for its name and for messages.
    descriptor: The open folder's descriptor.
  """

  def __init__(
    self,
    path: str | os.PathLike,
    parent: 'OwnFolder | None' = None,
    make: bool = True,
  ):
    """Opens the folder.

    Args:
      path: The folder's path, or its name in `parent`.
      parent: The folder that contains it; None if `path` is the whole path.
      make: Whether to make the folder if it does not exist.

    Raises:
      OSError: the folder does not exist and cannot be made, is a link, belongs
        to another user, or gives other users access.
    """
    within = parent.descriptor if parent else None
    self.path = os.path.join(parent.path, path) if parent else os.fspath(path)
    if make:
      with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700, dir_fd=within)
    flags = os.O_RDONLY | os.O_DIRECTORY | _NO_LINK
    self.descriptor = os.open(path, flags, dir_fd=within)
    found = os.fstat(self.descriptor)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
      self.close()
      raise PermissionError(f'{self.path} is not a private folder of this user')

  def close(self) -> None:
    os.close(self.descriptor)

  def names(self) -> list[str]:
    return os.listdir(self.descriptor)

  def stat(self, name: str) -> os.stat_result:
    return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

  def open(self, name: str, flags: int) -> int:
    """Opens a file that belongs to this user.

    Args:
      name: The file's name.
      flags: Flags of `os.open`.

    Returns:
      The file's descriptor.

    Raises:
      OSError: the file does not exist, is a link, belongs to another user, or
        is not a regular file.
    """
    # Without O_NONBLOCK, opening a planted pipe would wait for ever.
    flags |= _NO_LINK | os.O_NONBLOCK
    descriptor = os.open(name, flags, 0o600, dir_fd=self.descriptor)
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
      os.close(descriptor)
      raise PermissionError(f'{self.path}/{name} is not a file of this user')
    return descriptor

  def create(self, name: str) -> int:
    """Removes any old file, makes an empty one; returns its descriptor."""
    self.unlink(name)
    return self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

  def unlink(self, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
      os.unlink(name, dir_fd=self.descriptor)

  def rename(self, name: str, new: str) -> None:
    os.rename(name, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

  def rmdir(self, name: str) -> None:
    os.rmdir(name, dir_fd=self.descriptor)
