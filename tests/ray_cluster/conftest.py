"""A real cluster of Ray, each of whose nodes is a process of this machine."""

import itertools

import pytest

pytest.importorskip('ray', reason='Ray is missing: make setup')

from ray import cluster_utils
from ray._private import services


class Cluster:
  """A cluster whose head, which drivers are on, has no room for tasks."""

  def __init__(self):
    self._cluster = cluster_utils.Cluster(
      initialize_head=True,
      head_node_args={'num_cpus': 0, 'include_dashboard': False},
    )
    self.address = self._cluster.address
    # A driver is on any of the nodes that have its machine's address.
    self._hosts = (f'127.0.0.{number}' for number in itertools.count(2))

  def add_node(self, **room):
    """Adds a node and returns it."""
    node = self._cluster.add_node(node_ip_address=next(self._hosts), **room)
    head = self._cluster.head_node
    # Each node says that the machine's address is its own.
    services.write_node_ip_address(
      head.get_session_dir_path(), head.node_ip_address
    )
    return node

  def remove_node(self, node):
    """Kills a node and all that runs there."""
    self._cluster.remove_node(node, allow_graceful=False)

  def close(self):
    self._cluster.shutdown()


@pytest.fixture
def cluster(monkeypatch):
  monkeypatch.setenv('RAY_USAGE_STATS_ENABLED', '0')
  made = Cluster()
  try:
    yield made
  finally:
    made.close()
