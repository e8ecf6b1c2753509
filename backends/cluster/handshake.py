"""How a daemon and its launcher prove to each other that they know a key.

The launcher sends a challenge, which is a random number. The daemon answers
with its introduction: a random number of its own, its node's name, and an HMAC
of all of these. The launcher's welcome is an HMAC of the same. The key does not
cross the network, and nothing is parsed before its HMAC was checked. Each of
the three is one short line.
"""

import hmac
import secrets

# A line's bytes, at most. The name of the node, a task's, is the longest part.
MAX_BYTES = 1024
_DIGEST = 'sha256'
_DAEMON, _LAUNCHER = b'daemon', b'launcher'


class StrangerError(ConnectionError):
  """The other end does not know the key."""


def challenge() -> bytes:
  """Returns the launcher's first line, a different one each time."""
  return secrets.token_hex().encode() + b'\n'


def introduce(key: bytes, challenged: bytes, name: str) -> bytes:
  """Returns the daemon's line in answer to a challenge.

  Args:
    key: the key of the run.
    challenged: the launcher's line.
    name: name of the daemon's node.
  """
  said = secrets.token_hex().encode() + b' ' + name.encode()
  return _proof(key, _DAEMON, challenged, said) + b' ' + said + b'\n'


def welcome(key: bytes, challenged: bytes, introduced: bytes) -> bytes:
  """Returns the launcher's line in answer to an introduction.

  Raises:
    StrangerError: the introduction is not by a daemon with the key.
  """
  proof, _, said = introduced.removesuffix(b'\n').partition(b' ')
  _check(proof, _proof(key, _DAEMON, challenged, said))
  return _proof(key, _LAUNCHER, challenged, said) + b'\n'


def name_of(introduced: bytes) -> str:
  """Returns the node's name in an introduction that `welcome` has checked."""
  return introduced.removesuffix(b'\n').split(b' ', 2)[2].decode()


def check_welcome(
  key: bytes, challenged: bytes, introduced: bytes, welcomed: bytes
) -> None:
  """Raises `StrangerError` unless a launcher with the key made the welcome."""
  _, _, said = introduced.removesuffix(b'\n').partition(b' ')
  _check(welcomed.removesuffix(b'\n'), _proof(key, _LAUNCHER, challenged, said))


def _proof(key: bytes, whose: bytes, challenged: bytes, said: bytes) -> bytes:
  # It covers who made it, so that it cannot be sent back as the other end's.
  return (
    hmac.digest(key, b'\n'.join([whose, challenged, said]), _DIGEST)
    .hex()
    .encode()
  )


def _check(proof: bytes, right: bytes) -> None:
  if not hmac.compare_digest(proof, right):
    raise StrangerError('it does not know the key of this run')
