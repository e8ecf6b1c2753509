"""Decides which of two items is newer, and which version an item has."""

import dataclasses
import secrets
import zlib

# An item of version v has the priority v + 0.5. So the priority 1.0, which
# every TF-Agents client sends, is not a version.
_MARK = 0.5
# Above this, a double cannot hold the half.
_MAX_VERSION = 2.0**52


def encode(version: int) -> float:
  """Returns the priority of an item with this version."""
  return version + _MARK


def decode(priority: float) -> int | None:
  """Returns the version of a priority; None for a TF-Agents client's."""
  version = int(priority) if 0 < priority < _MAX_VERSION else 0
  return version if version > 0 and priority == version + _MARK else None


def draw_key(identity: bytes) -> int:
  """Returns a new item's key, whose upper half says for which server it is."""
  return _upper_half(identity) << 32 | secrets.randbits(32)


def is_key_for(key: int, identity: bytes) -> bool:
  """Returns whether an item was pushed to the server of this identity.

  False can also mean that another program pushed it, or that the server was
  restored with its items.
  """
  return key >> 32 == _upper_half(identity)


def _upper_half(identity: bytes) -> int:
  return zlib.crc32(identity) >> 1


@dataclasses.dataclass
class NewestItem:
  """The newest item of one table that a process knows of.

  Attributes:
    identity: The identity of the server that the item was seen on.
    key: The item's key; None before the first item.
    index: The table's count of inserts, this item included.
    version: The item's version as callers see it; 0 before the first item.
    offset: The number that is added to the pusher's own version. It grows when
      a pusher begins to count again, so that versions still rise for readers.
  """

  identity: bytes = b''
  key: int | None = None
  index: int = 0
  version: int = 0
  offset: int = 0

  def is_newest_of(self, identity: bytes, inserts: int) -> bool:
    """Returns whether a server with this many inserts has no newer item.

    The pusher's host may know an item before the server counts it, hence <=.
    """
    return identity == self.identity and inserts <= self.index

  def note_found(
    self, identity: bytes, key: int, index: int, priority: float
  ) -> int:
    """Notes an item that was found after the last one.

    Returns:
      How many versions lay between the two.
    """
    before = self.version
    pushed = decode(priority)
    if pushed is not None:
      if before:
        self.offset = max(self.offset, before + 1 - pushed)
      self.version = pushed + self.offset
    elif before:
      # A TF-Agents client sends no version, but the server counts its inserts.
      inserts = index - self.index if identity == self.identity else 1
      self.version = before + max(1, inserts)
    else:
      self.version = max(1, index)
    self.identity, self.key, self.index = identity, key, index
    return max(0, self.version - before - 1) if before else 0

  def note_pushed(
    self, identity: bytes, key: int, index: int, version: int
  ) -> None:
    """Notes an item that this process has pushed."""
    self.identity, self.key, self.index = identity, key, index
    self.version, self.offset = version, 0
