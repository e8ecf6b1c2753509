"""Two hosts on this machine: network namespaces with a cable between them."""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence

# A command gets its own shared memory, as it would have on its own host.
_ENTER = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'


def missing() -> str | None:
  """Returns why such hosts cannot be made here, or None if they can."""
  try:
    with connected():
      return None
  except FileNotFoundError as e:
    return f'{e.filename} is missing: apt-get install iproute2'
  except subprocess.CalledProcessError as e:
    return f'no network namespace can be made here: {e.stderr.strip()}'


class Network:
  """The hosts `a` and `b`, which reach each other and nothing else.

  Attributes:
    addresses: the IP address of each host, by the host's name.
  """

  addresses = {'a': '10.213.7.1', 'b': '10.213.7.2'}

  def __init__(self):
    self._namespaces = {
      host: f'rl-{os.getpid()}-{host}' for host in self.addresses
    }

  def command(self, host: str, command: Sequence[str]) -> list[str]:
    """Returns the command line that runs a command on a host."""
    enter = ['ip', 'netns', 'exec', self._namespaces[host]]
    return [*enter, *('unshare', '--mount', 'sh', '-c', _ENTER, 'sh'), *command]

  def namespace(self, host: str) -> str:
    """Returns a host's name for `ip netns`."""
    return self._namespaces[host]

  def limit(self, rate: str) -> None:
    """Limits the bandwidth of the cable in both directions.

    Args:
      rate: the bandwidth as `tc` takes it, such as `1gbit`.
    """
    for host in self.addresses:
      _run(
        *('tc', '-netns', self._namespaces[host], 'qdisc', 'replace'),
        *('dev', 'eth0', 'root', 'tbf', 'rate', rate),
        *('burst', '1mb', 'latency', '50ms'),
      )

  def set_link(self, state: str) -> None:
    """Cuts the cable if `state` is 'down', and repairs it if it is 'up'."""
    self._ip('link', 'set', 'eth0', state, host='b')

  def received_bytes(self, host: str) -> int:
    """Returns the bytes that a host's network card has received so far."""
    path = '/sys/class/net/eth0/statistics/rx_bytes'
    return int(_run(*self.command(host, ['cat', path])))

  def pids(self, host: str) -> list[str]:
    """Returns the pids of the processes on a host."""
    return _run('ip', 'netns', 'pids', self._namespaces[host]).split()

  def open(self) -> None:
    """Makes the hosts and the cable between them."""
    a, b = self._namespaces.values()
    for namespace in (a, b):
      _run('ip', 'netns', 'add', namespace)
    peer = ('peer', 'name', 'eth0', 'netns', b)
    self._ip('link', 'add', 'eth0', 'type', 'veth', *peer, host='a')
    for host, address in self.addresses.items():
      self._ip('address', 'add', f'{address}/24', 'dev', 'eth0', host=host)
      for device in ('lo', 'eth0'):
        self._ip('link', 'set', device, 'up', host=host)

  def close(self) -> None:
    """Removes the hosts and the cable."""
    for namespace in self._namespaces.values():
      subprocess.run(
        ['ip', 'netns', 'delete', namespace], capture_output=True, check=False
      )

  def _ip(self, *arguments: str, host: str) -> None:
    _run('ip', '-netns', self._namespaces[host], *arguments)


@contextlib.contextmanager
def connected() -> Iterator[Network]:
  """Makes the hosts, and removes them at the end.

  Raises:
    FileNotFoundError: there is no command `ip`.
    subprocess.CalledProcessError: this process may not make them.
  """
  network = Network()
  try:
    network.open()
    yield network
  finally:
    with contextlib.suppress(FileNotFoundError):
      network.close()


def _run(*command: str) -> str:
  return subprocess.run(
    command, capture_output=True, text=True, check=True, timeout=30
  ).stdout
