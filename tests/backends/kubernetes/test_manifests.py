"""A run's manifests keep to Kubernetes' schemas and rules."""

import copy
import pathlib
import re

import pytest
import yaml

from backends import resources
from backends.kubernetes import manifests as manifests_lib
from backends.kubernetes import options as options_lib
from tests.backends.kubernetes import schemas

_GROUPS = {'replay': 1, 'variable_server': 1, 'learner': 1, 'actor': 12}
_OPTIONS = (
  'image=registry/rl:1,volume=claim:/runs,namespace=rl,memory=1Gi;'
  'learner:nodeSelector.cloud/gpu=l4,toleration.nvidia.com/gpu=,memory=8Gi;'
  'actor:toleration.spot=yes'
)
_NAME = 'one-123abc'


def _render(groups=_GROUPS, asked='', options=_OPTIONS, flags=('--seed=1',)):
  text = manifests_lib.render(
    _NAME,
    groups,
    resources.parse(asked),
    options_lib.parse(options),
    flags,
    'the key',
  )
  return list(yaml.safe_load_all(text))


def _job_set(**kwargs):
  *_, found = _render(**kwargs)
  return found


def _jobs(**kwargs):
  jobs = _job_set(**kwargs)['spec']['replicatedJobs']
  return {job['name']: job['template']['spec'] for job in jobs}


def _pod(job):
  return job['template']['spec']


def _container(job):
  (container,) = _pod(job)['containers']
  return container


def test_kubernetes_and_jobset_know_every_field():
  manifests = _render(asked='learner:gpu=2,cpu=8;actor:cpu=2')
  kinds = [each['kind'] for each in manifests]
  assert kinds == ['NetworkPolicy', 'Secret', 'JobSet']
  for manifest in manifests:
    assert schemas.errors(manifest) == []
    assert manifest['metadata'] == {'name': _NAME, 'namespace': 'rl'}


@pytest.mark.parametrize(
  'path, value',
  [
    ('spec.network.enableDNSHostname', True),
    ('spec.replicatedJobs.0.template.spec.backOffLimit', 1),
    ('spec.replicatedJobs.0.template.spec.completions', '1'),
    ('spec.replicatedJobs.1.template.spec.template.spec.volume', []),
    ('spec.failurePolicy.rules.0.target', []),
  ],
)
def test_the_schemas_refuse_fields_of_a_job_set_that_do_not_exist(path, value):
  manifest = copy.deepcopy(_job_set())
  at = manifest
  *parents, last = path.split('.')
  for key in parents:
    at = at[int(key) if key.isdigit() else key]
  at[last] = value
  assert schemas.errors(manifest) != []


def test_the_schemas_refuse_fields_of_other_objects_that_do_not_exist():
  policy, secret, _ = _render()
  policy['spec']['egres'] = []
  secret['stringdata'] = {}
  assert schemas.errors(policy) != []
  assert schemas.errors(secret) != []


def test_each_task_is_a_pod_that_names_its_task():
  jobs = _jobs()
  assert list(jobs) == [
    *('launcher', 'replay', 'variable-server', 'learner', 'actor')
  ]
  counts = [job['completions'] for job in jobs.values()]
  assert counts == [1, 1, 1, 1, 12]
  for job in jobs.values():
    assert job['parallelism'] == job['completions']
    assert job['completionMode'] == 'Indexed'
  assert _container(jobs['variable-server'])['command'] == [
    *('python', '-m', 'backends.cluster.join'),
    'one-123abc-launcher-0-0.one-123abc:7700',
    'variable_server/$(JOB_COMPLETION_INDEX)',
    '/etc/launchpad/key',
  ]


def test_the_launcher_gets_its_flags_unchanged():
  launcher = _jobs(flags=['--config=a=$(HOME)', '--resume'])['launcher']
  container = _container(launcher)
  # Kubernetes turns two dollar signs into one.
  assert container['command'] == [
    *('python', 'launch.py', '--config=a=$$(HOME)', '--resume')
  ]
  env = {each['name']: each['value'] for each in container['env']}
  assert env['LAUNCHPAD_LISTEN'] == '7700'
  assert env['LAUNCHPAD_KEY_FILE'] == '/etc/launchpad/key'


def test_a_failed_run_fails_the_job_set_and_a_disruption_does_not():
  manifest = _job_set()
  spec, launcher = manifest['spec'], _jobs()['launcher']
  assert spec['successPolicy']['targetReplicatedJobs'] == ['launcher']
  (rule,) = spec['failurePolicy']['rules']
  assert rule['action'] == 'FailJobSet'
  assert rule['targetReplicatedJobs'] == ['launcher']
  # Kubernetes applies the first rule that fits.
  disrupted, failed = launcher['podFailurePolicy']['rules']
  assert disrupted['action'] == 'Ignore'
  assert disrupted['onPodConditions'][0]['type'] == 'DisruptionTarget'
  assert failed['action'] == 'FailJob'
  assert failed['onExitCodes'] == {'operator': 'In', 'values': [1, 2]}


def test_jobs_keep_to_rules_that_no_schema_has():
  for name, job in _jobs().items():
    # Kubernetes takes a pod failure policy only together with these.
    if 'podFailurePolicy' in job:
      assert _pod(job)['restartPolicy'] == 'Never'
      assert job['podReplacementPolicy'] == 'Failed'
    else:
      assert job['backoffLimit'] == 2**31 - 1, name
    assert _pod(job)['terminationGracePeriodSeconds'] > 15
    mounts = {each['name'] for each in _container(job)['volumeMounts']}
    assert mounts == {each['name'] for each in _pod(job)['volumes']}


def test_only_pods_of_the_run_reach_its_pods_and_have_its_key():
  policy, secret, _ = _render()
  pods = {'matchLabels': {'jobset.sigs.k8s.io/jobset-name': _NAME}}
  assert policy['spec'] == {
    'podSelector': pods,
    'policyTypes': ['Ingress'],
    'ingress': [{'from': [{'podSelector': pods}]}],
  }
  assert secret['stringData'] == {'key': 'the key'}
  for job in _jobs().values():
    (key,) = (each for each in _pod(job)['volumes'] if each['name'] == 'key')
    assert key['secret'] == {'secretName': _NAME, 'defaultMode': 0o400}
    # Without this, the interpreter would not hear signals while it starts.
    assert _pod(job)['shareProcessNamespace']
    # Without this, a user who is not root could not read the key.
    assert _pod(job)['securityContext']['fsGroup']
    assert _pod(job)['securityContext']['runAsNonRoot']


def test_each_role_has_its_own_resources_and_options():
  jobs = _jobs(asked='learner:gpu=2,cpu=8')
  assert _container(jobs['learner'])['resources'] == {
    'requests': {'cpu': '8', 'memory': '8Gi'},
    'limits': {'nvidia.com/gpu': '2'},
  }
  assert _container(jobs['replay'])['resources'] == {
    'requests': {'cpu': '1', 'memory': '1Gi'}
  }
  assert _pod(jobs['learner'])['nodeSelector'] == {'cloud/gpu': 'l4'}
  assert _pod(jobs['learner'])['tolerations'] == [
    {'key': 'nvidia.com/gpu', 'operator': 'Exists'}
  ]
  assert _pod(jobs['actor'])['tolerations'] == [{'key': 'spot', 'value': 'yes'}]
  assert 'nodeSelector' not in _pod(jobs['launcher'])


def test_no_field_is_written_as_a_reference_to_another():
  text = manifests_lib.render(
    _NAME, _GROUPS, {}, options_lib.parse(_OPTIONS), [], 'key'
  )
  assert not re.search(r'[&*]id\d', text)


@pytest.mark.parametrize(
  'directory',
  ['one', 'Two_runs', '20240101-sac', 'x' * 300, '--', 'ünï', 'a.b'],
)
def test_any_directory_makes_a_host_name(directory):
  name = manifests_lib.name(pathlib.PurePosixPath('/runs') / directory)
  pod = f'{name}-variable-server-0-99999-abcde'
  assert re.fullmatch(r'[a-z]([a-z0-9-]*[a-z0-9])?', name)
  assert len(pod) <= 63


def test_each_directory_has_a_name_that_stays():
  one, other = (pathlib.PurePosixPath(f'/runs/{each}/one') for each in 'ab')
  assert manifests_lib.name(one) == manifests_lib.name(one)
  assert manifests_lib.name(one) != manifests_lib.name(other)


@pytest.mark.parametrize(
  'groups, message',
  [
    ({'a' * 60: 1}, 'would have 8. characters'),
    ({'a_b': 1, 'a/b': 1}, "two roles would both be 'a-b'"),
    ({'launcher': 1}, "two roles would both be 'launcher'"),
  ],
)
def test_roles_whose_names_make_no_host_names_are_refused(groups, message):
  with pytest.raises(ValueError, match=message):
    _render(groups=groups, options='image=rl:1,volume=claim:/runs')
