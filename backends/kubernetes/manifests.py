"""The manifests of a run on Kubernetes, the text that kubectl reads.

A JobSet has the launcher's Job and one Job for each of the program's labels. In
a label's Job, each task is a pod with its own host name. The cluster decides
where a pod runs, starts a pod again, and ends the other pods when the launcher
has ended.
"""

import hashlib
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from backends import resources as resources_lib
from backends.cluster import links
from backends.kubernetes import options as options_lib
from backends.kubernetes import pods

LAUNCHER = 'launcher'
# The label that JobSet puts on each of its pods.
NAME_LABEL = 'jobset.sigs.k8s.io/jobset-name'
_PORT = 7700
# How often a launcher may die. An eviction does not count, and neither does an
# end with one of the exit codes below.
_MAX_LAUNCHER_DEATHS = 10
_FAILED, _WRONG_USAGE = 1, 2
# The greatest limit that Kubernetes accepts. The launcher decides how often a
# task may die.
_NO_LIMIT = 2**31 - 1
_MAX_DNS = 63
_MAX_SLUG = 23


def in_launcher() -> bool:
  """Returns whether this process is in the launcher's pod of a run."""
  return links.LISTEN in os.environ


def name(run_dir: pathlib.PurePath) -> str:
  """Returns the name of a run's objects, which follows from its directory.

  The name is short: for a pod's name, Kubernetes adds the role, an index and
  six characters, and it accepts 63 characters in all.

  Args:
    run_dir: the run directory's path in the pods.
  """
  slug = _dns(run_dir.name)
  if not slug[:1].isalpha():
    slug = f'run-{slug}'
  digest = hashlib.sha256(str(run_dir).encode()).hexdigest()[:6]
  return f'{slug[:_MAX_SLUG].rstrip("-")}-{digest}'


def render(
  own: str,
  groups: Mapping[str, int],
  resources: Mapping[str, resources_lib.Resources],
  options: options_lib.Options,
  flags: Sequence[str],
  key: str,
) -> str:
  """Returns the manifests of the network policy, the Secret and the JobSet.

  Args:
    own: the name of the objects.
    groups: the number of tasks by the program's labels.
    resources: the resources of each task by label; a label that is missing has
      `Resources()`, the least.
    options: the run's options. None that a run needs is missing.
    flags: the flags of `launch.py` in the launcher's pod.
    key: the daemon key, by which launcher and daemons know each other.

  Raises:
    ValueError: the program does not have a label that `resources` or `options`
      name, or a label is too long for the name of a pod.
  """
  resources_lib.check_roles(resources, groups)
  resources_lib.check_roles(options.pods, [*groups, LAUNCHER])
  jobs = [_launcher(own, flags, options)]
  for label, count in groups.items():
    of_task = resources.get(label, resources_lib.Resources())
    jobs.append(_daemons(own, label, count, of_task, options))
  _check_names(own, jobs)
  objects = [_network_policy(own), _secret(own, key), _job_set(own, jobs)]
  for each in objects:
    if 'namespace' in options.run:
      each['metadata']['namespace'] = options.run['namespace']
  return yaml.safe_dump_all(objects, sort_keys=False, width=1000)


def _job_set(own: str, jobs: Sequence[dict[str, Any]]) -> dict[str, Any]:
  return {
    'apiVersion': 'jobset.x-k8s.io/v1alpha2',
    'kind': 'JobSet',
    'metadata': {'name': own},
    'spec': {
      # JobSet then makes the headless service that the pods' host names need.
      'network': {'enableDNSHostnames': True},
      'successPolicy': {'operator': 'All', 'targetReplicatedJobs': [LAUNCHER]},
      'failurePolicy': {
        'maxRestarts': 0,
        'rules': [
          {
            'name': 'runFailed',
            'action': 'FailJobSet',
            'targetReplicatedJobs': [LAUNCHER],
          }
        ],
      },
      'replicatedJobs': list(jobs),
    },
  }


def _launcher(
  own: str, flags: Sequence[str], options: options_lib.Options
) -> dict[str, Any]:
  # Otherwise Kubernetes would replace `$(NAME)` by a variable's value.
  plain = [flag.replace('$', '$$') for flag in flags]
  command = ['python', 'launch.py', *plain]
  pod = pods.spec(own, LAUNCHER, command, resources_lib.Resources(), options)
  pod['containers'][0]['env'] += [
    {'name': links.LISTEN, 'value': str(_PORT)},
    {'name': links.KEY_FILE, 'value': pods.KEY_PATH},
  ]
  rules = [
    # A launcher that is evicted goes on elsewhere, however often.
    {
      'action': 'Ignore',
      'onPodConditions': [{'type': 'DisruptionTarget', 'status': 'True'}],
    },
    # A launcher that ends with one of these codes would do so again.
    {
      'action': 'FailJob',
      'onExitCodes': {'operator': 'In', 'values': [_FAILED, _WRONG_USAGE]},
    },
  ]
  return _job(
    LAUNCHER,
    1,
    # Kubernetes accepts a pod failure policy only if the pod never restarts.
    {**pod, 'restartPolicy': 'Never'},
    {
      'backoffLimit': _MAX_LAUNCHER_DEATHS,
      'podFailurePolicy': {'rules': rules},
    },
  )


def _daemons(
  own: str,
  label: str,
  count: int,
  resources: resources_lib.Resources,
  options: options_lib.Options,
) -> dict[str, Any]:
  command = [
    *('python', '-m', 'backends.cluster.join'),
    f'{own}-{LAUNCHER}-0-0.{own}:{_PORT}',
    f'{label}/$(JOB_COMPLETION_INDEX)',
    pods.KEY_PATH,
  ]
  pod = pods.spec(own, label, command, resources, options)
  return _job(
    _dns(label),
    count,
    # A container restarts in its pod as long as the node is there. A new pod
    # instead would wait longer after each failure of any of the label's pods.
    {**pod, 'restartPolicy': 'OnFailure'},
    {'backoffLimit': _NO_LIMIT},
  )


def _job(
  job_name: str, count: int, pod: dict[str, Any], spec: dict[str, Any]
) -> dict[str, Any]:
  return {
    'name': job_name,
    'replicas': 1,
    'template': {
      'spec': {
        'completionMode': 'Indexed',
        'completions': count,
        'parallelism': count,
        # So there are never two pods of one name.
        'podReplacementPolicy': 'Failed',
        **spec,
        'template': {'spec': pod},
      }
    },
  }


def _network_policy(own: str) -> dict[str, Any]:
  """Lets only the run's own pods connect to its pods."""
  return {
    'apiVersion': 'networking.k8s.io/v1',
    'kind': 'NetworkPolicy',
    'metadata': {'name': own},
    'spec': {
      'podSelector': _pods(own),
      'policyTypes': ['Ingress'],
      'ingress': [{'from': [{'podSelector': _pods(own)}]}],
    },
  }


def _pods(own: str) -> dict[str, Any]:
  return {'matchLabels': {NAME_LABEL: own}}


def _secret(own: str, key: str) -> dict[str, Any]:
  return {
    'apiVersion': 'v1',
    'kind': 'Secret',
    'metadata': {'name': own},
    'stringData': {pods.KEY: key},
  }


def _check_names(own: str, jobs: Sequence[Mapping[str, Any]]) -> None:
  """Raises `ValueError` unless Kubernetes accepts the names of all pods."""
  names = [job['name'] for job in jobs]
  for job_name in names:
    if names.count(job_name) > 1:
      raise ValueError(
        f'two roles would both be {job_name!r} in host names; rename one'
      )
  for job in jobs:
    last = job['template']['spec']['completions'] - 1
    # Kubernetes adds five random characters to the name of a pod.
    pod = f'{own}-{job["name"]}-0-{last}-abcde'
    if len(pod) > _MAX_DNS:
      raise ValueError(
        f"the name of a role's pods would have {len(pod)} characters, and "
        f'Kubernetes accepts {_MAX_DNS}: {pod!r}; give the role a shorter name'
      )


def _dns(text: str) -> str:
  """Returns a text as a part of a host name."""
  return re.sub('[^a-z0-9]+', '-', text.lower()).strip('-')
