"""Which of two items is newer, and what version it is: plain bookkeeping."""

import dataclasses

# A pusher's version v is the priority v + 0.5 of its item, so that the 1.0 of
# a plain TF-Agents client is no version.
_MARK = 0.5
# No double above this has a half.
_MAX_VERSION = 2.0**52


def encode(version: int) -> float:
  """The priority that says an item's version."""
  return version + _MARK


def decode(priority: float) -> int | None:
  """The version that a priority says; None for a plain client's priority."""
  version = int(priority) if 0 < priority < _MAX_VERSION else 0
  return version if version > 0 and priority == version + _MARK else None


@dataclasses.dataclass
class NewestItem:
  """The newest item of one table that a process knows of.

  Attributes:
    identity: The identity of the server that the item was seen on.
    key: The item's key; None before the first item.
    index: The server's count of inserts when it had taken the item.
    version: The item's version as the caller is told it; 0 before the first.
    offset: What was added to the pusher's own count. It grows when a pusher
      began to count anew, so that no reader is taken back.
  """

  identity: bytes = b''
  key: int | None = None
  index: int = 0
  version: int = 0
  offset: int = 0

  def is_newest_of(self, identity: bytes, inserts: int) -> bool:
    """Whether a server with that many inserts cannot have a newer item.

    The pusher's own host has an item before the server counts it, hence <=.
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
      # A plain client counts nothing, but the server counts its inserts.
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
