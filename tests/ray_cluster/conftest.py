"""A real Ray cluster, whose nodes are processes of this machine."""

import itertools

import pytest

pytest.importorskip('ray', reason='Ray is missing: make setup')

from ray import cluster_utils
from ray._private import services


class Cluster:
  """A Ray cluster; drivers use its head node, which has no room for tasks."""

  def __init__(self):
    self._cluster = cluster_utils.Cluster(
      initialize_head=True,
      head_node_args={'num_cpus': 0, 'include_dashboard': False},
    )
    self.address = self._cluster.address
    # A driver takes the node that has its machine's address. Only the head may
    # have that one.
    self._hosts = (f'127.0.0.{number}' for number in itertools.count(2))

  def add_node(self, **room):
    """Adds a node and returns it."""
    node = self._cluster.add_node(node_ip_address=next(self._hosts), **room)
    head = self._cluster.head_node
    # The new node has written its own address as the machine's.
    services.write_node_ip_address(
      head.get_session_dir_path(), head.node_ip_address
    )
    return node

  def remove_node(self, node):
    """Kills a node with all processes on it."""
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
