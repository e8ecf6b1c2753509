"""What kubectl is told to do, and how its answers are read."""

import pytest

from backends.kubernetes import jobset, manifests
from backends.kubernetes import options as options_lib
from tests.backends.kubernetes import api_server

_NAME = 'one-123abc'
_HERE = jobset.Cluster({})


@pytest.fixture
def server(tmp_path):
  with api_server.running(tmp_path) as running:
    yield running


def _manifests():
  options = options_lib.parse('image=rl:1,volume=claim:/runs')
  return manifests.render(
    _NAME, {'actor': 2}, {}, options, ['--seed=1'], 'the key'
  )


def _pod(name, **status):
  return {
    'kind': 'Pod',
    'apiVersion': 'v1',
    'metadata': {'name': name},
    'status': status,
  }


def test_a_run_is_created_stopped_and_removed(server):
  assert _HERE.state(_NAME) is None
  _HERE.create(_manifests())
  assert {kind for kind, _ in server.objects} == {
    *('networkpolicies', 'secrets', 'jobsets')
  }
  assert str(_HERE.state(_NAME)) == 'Running'
  server.objects['pods', 'launcher'] = _pod('launcher', phase='Running')
  # An evicted pod is kept only for its output.
  server.objects['pods', 'before'] = _pod('before', phase='Failed')

  def end():
    server.objects['pods', 'launcher']['status']['phase'] = 'Succeeded'

  server.on_patch = end
  _HERE.stop(_NAME)
  assert server.objects['jobsets', _NAME]['spec']['suspend'] is True
  _HERE.remove(_NAME)
  assert {kind for kind, _ in server.objects} == {'pods'}
  _HERE.remove(_NAME)


def test_a_pod_that_does_not_end_is_named(server, monkeypatch):
  monkeypatch.setattr(jobset, '_STOP_SECS', 0.0)
  _HERE.create(_manifests())
  server.objects['pods', 'stuck'] = _pod('stuck', phase='Running')
  with pytest.raises(jobset.KubernetesError, match='^stuck did not'):
    _HERE.stop(_NAME)


@pytest.mark.parametrize(
  'condition, expected',
  [
    ({'type': 'Completed', 'status': 'True', 'message': 'x'}, 'Completed'),
    ({'type': 'Failed', 'status': 'True', 'message': 'why'}, 'Failed (why)'),
    ({'type': 'Suspended', 'status': 'True'}, 'Suspended'),
    ({'type': 'Suspended', 'status': 'False'}, 'Running'),
  ],
)
def test_a_runs_state_is_read_from_its_conditions(server, condition, expected):
  _HERE.create(_manifests())
  server.objects['jobsets', _NAME]['status'] = {'conditions': [condition]}
  state = _HERE.state(_NAME)
  assert str(state) == expected
  assert state.is_finished == expected.startswith(('Completed', 'Failed'))


def test_a_pods_state_says_what_it_waits_for(server):
  unschedulable = {
    'type': 'PodScheduled',
    'status': 'False',
    'reason': 'Unschedulable',
    'message': '0/3 nodes are available',
  }
  waiting = {'waiting': {'reason': 'ImagePullBackOff', 'message': 'no rl:1'}}
  for pod in (
    _pod('a', phase='Pending', conditions=[unschedulable]),
    _pod('b', phase='Pending', containerStatuses=[{'state': waiting}]),
    _pod('c', phase='Running', containerStatuses=[{'state': {'running': {}}}]),
  ):
    server.objects['pods', pod['metadata']['name']] = pod
  assert _HERE.pods(_NAME) == {
    'a': 'Pending (Unschedulable: 0/3 nodes are available)',
    'b': 'Pending (ImagePullBackOff: no rl:1)',
    'c': 'Running',
  }


def test_a_refusal_has_the_clusters_words(server):
  server.refused['POST', 'secrets'] = ('quota exceeded', 'Forbidden')
  with pytest.raises(jobset.KubernetesError) as e:
    _HERE.create(_manifests())
  assert 'quota exceeded' in str(e.value)
  assert '\n' not in str(e.value)


def test_a_field_that_does_not_exist_is_refused(server):
  text = _manifests().replace('backoffLimit', 'backOffLimit')
  with pytest.raises(jobset.KubernetesError, match='backOffLimit'):
    _HERE.create(text)
  assert ('jobsets', _NAME) not in server.objects


def test_a_cluster_without_job_sets_is_named_as_the_cause(server, monkeypatch):
  monkeypatch.delitem(api_server.RESOURCES, 'apis/jobset.x-k8s.io/v1alpha2')
  with pytest.raises(jobset.KubernetesError, match='has no JobSets'):
    _HERE.state(_NAME)


def test_kubectl_without_a_context_says_how_to_name_one(server, monkeypatch):
  monkeypatch.setenv('KUBECONFIG', '/nowhere')
  with pytest.raises(jobset.KubernetesError, match='has no context'):
    _HERE.state(_NAME)
  elsewhere = jobset.Cluster({'context': 'gke'})
  with pytest.raises(jobset.KubernetesError, match='context: gke'):
    elsewhere.state(_NAME)


def test_a_missing_kubectl_is_named_as_the_cause(monkeypatch):
  monkeypatch.setenv('PATH', '/nowhere')
  with pytest.raises(jobset.KubernetesError, match='has no kubectl'):
    _HERE.state(_NAME)


def test_kubectl_gets_the_namespace_and_the_context(tmp_path, monkeypatch):
  script = tmp_path / 'kubectl'
  script.write_text('#!/bin/sh\necho "$@"\n')
  script.chmod(0o755)
  monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
  cluster = jobset.Cluster({'namespace': 'rl', 'context': 'gke'})
  assert cluster.in_launcher(_NAME, 'python', '--version') == (
    '--context=gke --namespace=rl exec job/one-123abc-launcher-0 -- python '
    '--version\n'
  )
