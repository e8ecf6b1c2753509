"""How a daemon and its launcher prove to each other that they know a key.

The launcher says a nonce; the daemon answers with one of its own, its node's
name and a proof (HMAC) over all of these; the launcher proves the same back.
The key does not cross the network, and nothing is parsed before it was proved.
Each message is one short line.
"""

import hmac
import secrets

# Of a line. A task's name is the longest part of it.
MAX_BYTES = 1024
_DIGEST = 'sha256'
_DAEMON, _LAUNCHER = b'daemon', b'launcher'


class StrangerError(ConnectionError):
  """Whoever is at the other end does not know the key."""


def challenge() -> bytes:
  """Returns the launcher's first line, another each time."""
  return secrets.token_hex().encode() + b'\n'


def introduce(key: bytes, challenged: bytes, name: str) -> bytes:
  """Returns the daemon's line in answer to a challenge.

  Args:
    key: which both should know.
    challenged: the launcher's line.
    name: of the daemon's node.
  """
  said = secrets.token_hex().encode() + b' ' + name.encode()
  return _proof(key, _DAEMON, challenged, said) + b' ' + said + b'\n'


def welcome(key: bytes, challenged: bytes, introduced: bytes) -> bytes:
  """Returns the launcher's line in answer to an introduction.

  Raises:
    StrangerError: it is not that of a daemon with the key.
  """
  proof, _, said = introduced.removesuffix(b'\n').partition(b' ')
  _check(proof, _proof(key, _DAEMON, challenged, said))
  return _proof(key, _LAUNCHER, challenged, said) + b'\n'


def name_of(introduced: bytes) -> str:
  """Returns the name of the node in an introduction that was proved."""
  return introduced.removesuffix(b'\n').split(b' ', 2)[2].decode()


def check_welcome(
  key: bytes, challenged: bytes, introduced: bytes, welcomed: bytes
) -> None:
  """Raises `StrangerError` unless a welcome is of a launcher with the key."""
  _, _, said = introduced.removesuffix(b'\n').partition(b' ')
  _check(welcomed.removesuffix(b'\n'), _proof(key, _LAUNCHER, challenged, said))


def _proof(key: bytes, whose: bytes, challenged: bytes, said: bytes) -> bytes:
  # With who says it in it, nobody's proof can be sent back to them.
  return (
    hmac.digest(key, b'\n'.join([whose, challenged, said]), _DIGEST)
    .hex()
    .encode()
  )


def _check(proof: bytes, right: bytes) -> None:
  if not hmac.compare_digest(proof, right):
    raise StrangerError('it does not know the key of this run')
