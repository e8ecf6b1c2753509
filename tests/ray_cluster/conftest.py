"""A real cluster of Ray, each of whose nodes is a process of this machine."""

import pytest

pytest.importorskip('ray', reason='Ray is the extra `ray`')

from ray import cluster_utils


@pytest.fixture
def cluster(monkeypatch):
  """A cluster whose head has no room for tasks."""
  monkeypatch.setenv('RAY_USAGE_STATS_ENABLED', '0')
  made = cluster_utils.Cluster(
    initialize_head=True,
    head_node_args={'num_cpus': 0, 'include_dashboard': False},
  )
  try:
    yield made
  finally:
    made.shutdown()
