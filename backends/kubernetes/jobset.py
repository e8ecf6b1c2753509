"""What people do with a run on Kubernetes: submit, look after, stop it."""

import dataclasses
import json
import re
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from backends import api
from backends.kubernetes import manifests as kubernetes_manifests

_COMMAND_SECS = 60.0
# Longer than a pod's time of grace.
_STOP_SECS = 120.0
_POLL_SECS = 1.0
_JOB_SET = 'jobsets.jobset.x-k8s.io'
_KINDS = (_JOB_SET, 'networkpolicies.networking.k8s.io', 'secrets')
_FINISHED = ('Completed', 'Failed')
# Of a pod, which may be there still for its output.
_ENDED = ('Succeeded', 'Failed')
# What kubectl's libraries log beside what it says itself.
_NOISE = re.compile(r'[EWI]\d{4} |Warning: ')
_OF_STDIN = 'error when creating "STDIN": '
_NO_SERVER = 'localhost:8080'
_NO_JOB_SET = ('resource type "jobsets"', 'no matches for kind "JobSet"')


class KubernetesError(api.BackendError):
  """kubectl is not there, fails or does not answer."""


@dataclasses.dataclass(frozen=True)
class State:
  """What the cluster says of a run.

  Attributes:
    word: `Running`, `Suspended`, `Stopping`, `Completed` or `Failed`.
    reason: why, where there is more to say; else empty.
  """

  word: str
  reason: str

  def __str__(self) -> str:
    return f'{self.word} ({self.reason})' if self.reason else self.word

  @property
  def is_finished(self) -> bool:
    return self.word in _FINISHED


@dataclasses.dataclass(frozen=True)
class Cluster:
  """Where kubectl finds the runs of a namespace.

  Attributes:
    options: of a run; `context` and `namespace` are kubectl's own unless there.
  """

  options: Mapping[str, str]

  def create(self, manifests: str) -> None:
    """Makes the objects of a run.

    Raises:
      KubernetesError: the cluster does not take them all.
    """
    self._call('create', '--filename=-', stdin=manifests)

  def state(self, name: str) -> State | None:
    """Returns what a run does; None if the cluster has none of that name.

    Raises:
      KubernetesError: the cluster does not say.
    """
    found = self._get(_JOB_SET, name, '--ignore-not-found')
    return _state(found) if found else None

  def pods(self, name: str) -> dict[str, str]:
    """Returns what each pod of a run does, by the pod's name.

    Raises:
      KubernetesError: the cluster does not say.
    """
    found = self._get('pods', f'--selector={_label(name)}')
    items = found.get('items', ())
    return {item['metadata']['name']: _pod_state(item) for item in items}

  def in_launcher(self, name: str, *command: str) -> str:
    """Returns what a command prints in the pod of a run's launcher.

    Raises:
      KubernetesError: it fails, or there is no such pod.
    """
    job = f'job/{name}-{kubernetes_manifests.LAUNCHER}-0'
    return self._call('exec', job, '--', *command)

  def stop(self, name: str) -> None:
    """Ends all pods of a run and waits for that; it saves what it has.

    Not by deletion: names of pods would not be known while they stop.

    Raises:
      KubernetesError: the cluster does not do it, or not in time.
    """
    patch = json.dumps({'spec': {'suspend': True}})
    self._call('patch', _JOB_SET, name, '--type=merge', f'--patch={patch}')
    deadline = time.monotonic() + _STOP_SECS
    while left := self._living(name):
      if time.monotonic() > deadline:
        raise KubernetesError(
          f'{", ".join(left)} did not end within {_STOP_SECS:.0f} s; '
          f'`kubectl describe jobset {name}` says more'
        )
      time.sleep(_POLL_SECS)

  def remove(self, name: str) -> None:
    """Removes the objects of a run, and waits for that.

    Raises:
      KubernetesError: the cluster does not do it, or not in time.
    """
    for kind in _KINDS:
      self._call(
        *('delete', kind, name, '--ignore-not-found', '--cascade=foreground'),
        f'--timeout={_STOP_SECS:.0f}s',
        timeout=_STOP_SECS + _COMMAND_SECS,
      )

  @property
  def flags(self) -> list[str]:
    """Returns what tells kubectl where it is."""
    return [
      f'--{name}={self.options[name]}'
      for name in ('context', 'namespace')
      if name in self.options
    ]

  def _living(self, name: str) -> list[str]:
    states = self.pods(name)
    return [pod for pod in states if states[pod] not in _ENDED]

  def _get(self, *what: str) -> dict[str, Any]:
    text = self._call('get', *what, '--output=json')
    return json.loads(text) if text.strip() else {}

  def _call(
    self,
    verb: str,
    *args: str,
    stdin: str = '',
    timeout: float = _COMMAND_SECS,
  ) -> str:
    try:
      done = subprocess.run(
        ['kubectl', *self.flags, verb, *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
      )
    except FileNotFoundError:
      raise KubernetesError(
        'kubectl is not there: install it, and give it a context of the cluster'
      ) from None
    except subprocess.TimeoutExpired:
      raise KubernetesError(
        f'kubectl {verb} did not answer for {timeout:.0f} s'
      ) from None
    if done.returncode:
      raise KubernetesError(_sentence(verb, done))
    return done.stdout


def _label(name: str) -> str:
  return f'{kubernetes_manifests.NAME_LABEL}={name}'


def _state(job_set: Mapping[str, Any]) -> State:
  if 'deletionTimestamp' in job_set['metadata']:
    return State('Stopping', '')
  conditions = job_set.get('status', {}).get('conditions', ())
  true = {each['type']: each for each in conditions if each['status'] == 'True'}
  for word in (*_FINISHED, 'Suspended'):
    if word in true:
      reason = true[word].get('message', '') if word == 'Failed' else ''
      return State(word, reason)
  return State('Running', '')


def _pod_state(pod: Mapping[str, Any]) -> str:
  """Returns a pod's phase, and what it waits for."""
  status = pod.get('status', {})
  if 'deletionTimestamp' in pod['metadata']:
    return 'Terminating'
  waiting = [
    container['state']['waiting']
    for container in status.get('containerStatuses', ())
    if 'waiting' in container.get('state', {})
  ]
  unmet = [
    each for each in status.get('conditions', ()) if each['status'] == 'False'
  ]
  phase = status.get('phase', 'Unknown')
  for each in waiting or (unmet if phase == 'Pending' else ()):
    words = filter(None, (each.get('reason'), each.get('message')))
    return f'{phase} ({": ".join(words)})'
  return phase


def _sentence(verb: str, done: subprocess.CompletedProcess) -> str:
  lines = [
    line.strip().replace(_OF_STDIN, '')
    for line in done.stderr.splitlines()
    if line.strip() and not _NOISE.match(line)
  ]
  text = '; '.join(lines) or f'exit code {done.returncode}'
  if _NO_SERVER in text:
    return (
      'kubectl has no context: name one by --kubernetes=context=NAME; '
      '`kubectl config get-contexts` lists them'
    )
  if any(each in text for each in _NO_JOB_SET):
    return (
      'the cluster has no JobSets: have its controller installed, as '
      'docs/backends/kubernetes.md says'
    )
  return f'kubectl {verb}: {text}'
