"""How a daemon and its launcher prove to each other that they know a key.

The launcher sends a challenge, which is a random number. The daemon answers
with its introduction: another random number, its node's name, and an HMAC of
the challenge and of both of these. The launcher's welcome is another HMAC of
the same. The key does not cross the network, and nothing is parsed before its
HMAC was checked. Challenge, introduction and welcome are one short line each.
"""

import hmac
import secrets

# The most bytes that a line may have. The node's name is the longest part.
MAX_BYTES = 1024
_DIGEST = 'sha256'
_DAEMON, _LAUNCHER = b'daemon', b'launcher'


class StrangerError(ConnectionError):
  """The other end does not know the daemon key."""


def make_challenge() -> bytes:
  """Returns the launcher's first line, which differs at each call."""
  return secrets.token_hex().encode() + b'\n'


def make_introduction(key: bytes, challenge: bytes, name: str) -> bytes:
  """Returns the daemon's line in answer to a challenge.

  Args:
    key: the daemon key.
    challenge: the launcher's line.
    name: name of the daemon's node.
  """
  claim = secrets.token_hex().encode() + b' ' + name.encode()
  return _proof(key, _DAEMON, challenge, claim) + b' ' + claim + b'\n'


def make_welcome(key: bytes, challenge: bytes, introduction: bytes) -> bytes:
  """Returns the launcher's line in answer to an introduction.

  Raises:
    StrangerError: the sender of the introduction does not know the key.
  """
  proof, _, claim = introduction.removesuffix(b'\n').partition(b' ')
  _check(proof, _proof(key, _DAEMON, challenge, claim))
  return _proof(key, _LAUNCHER, challenge, claim) + b'\n'


def name_in(introduction: bytes) -> str:
  """Returns the node's name in an introduction that was checked before."""
  return introduction.removesuffix(b'\n').split(b' ', 2)[2].decode()


def check_welcome(
  key: bytes, challenge: bytes, introduction: bytes, welcome: bytes
) -> None:
  """Raises `StrangerError` unless a launcher with the key made the welcome."""
  _, _, claim = introduction.removesuffix(b'\n').partition(b' ')
  _check(welcome.removesuffix(b'\n'), _proof(key, _LAUNCHER, challenge, claim))


def _proof(key: bytes, maker: bytes, challenge: bytes, claim: bytes) -> bytes:
  # The HMAC covers who made it. So nobody can send the other end's HMAC back to
  # it as an own one.
  return (
    hmac.digest(key, b'\n'.join([maker, challenge, claim]), _DIGEST)
    .hex()
    .encode()
  )


def _check(proof: bytes, right: bytes) -> None:
  if not hmac.compare_digest(proof, right):
    raise StrangerError('it does not know the key of this run')
