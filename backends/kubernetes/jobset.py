"""What kubectl does with a run's objects: create, show, stop, remove them."""

import dataclasses
import json
import re
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from backends import api
from backends.kubernetes import manifests

_COMMAND_SECS = 60.0
# Longer than the 45 s that a pod has to stop.
_STOP_SECS = 120.0
_POLL_SECS = 1.0
_JOB_SET = 'jobsets.jobset.x-k8s.io'
_KINDS = (_JOB_SET, 'networkpolicies.networking.k8s.io', 'secrets')
_FINISHED = ('Completed', 'Failed')
# A pod in one of these phases has ended; it is kept for its output.
_ENDED = ('Succeeded', 'Failed')
# Lines that kubectl's libraries log between kubectl's messages.
_NOISE = re.compile(r'[EWI]\d{4} |Warning: ')
_OF_STDIN = 'error when creating "STDIN": '
_NO_SERVER = 'localhost:8080'
_NO_JOB_SET = ('resource type "jobsets"', 'no matches for kind "JobSet"')


class KubernetesError(api.BackendError):
  """kubectl is missing, fails or does not answer."""


@dataclasses.dataclass(frozen=True)
class State:
  """The state of a run's JobSet.

  Attributes:
    word: `Running`, `Suspended`, `Stopping`, `Completed` or `Failed`.
    reason: why it failed, if the cluster says it; else empty.
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
  """A namespace of a cluster, as kubectl reaches it.

  Attributes:
    options: a run's options by name. Only `context` and `namespace` are used;
      if one is missing, kubectl uses its default.
  """

  options: Mapping[str, str]

  def create(self, text: str) -> None:
    """Creates the objects of a run.

    Args:
      text: the objects, as `manifests.render` returns them.

    Raises:
      KubernetesError: the cluster refuses at least one of them.
    """
    self._call('create', '--filename=-', stdin=text)

  def state(self, name: str) -> State | None:
    """Returns the state of the JobSet with a name; None if there is none.

    Raises:
      KubernetesError: the cluster does not answer.
    """
    found = self._get(_JOB_SET, name, '--ignore-not-found')
    return _state(found) if found else None

  def pods(self, name: str) -> dict[str, str]:
    """Returns the state of each pod of a run, by the pod's name.

    Raises:
      KubernetesError: the cluster does not answer.
    """
    found = self._get('pods', f'--selector={_label(name)}')
    items = found.get('items', ())
    return {item['metadata']['name']: _pod_state(item) for item in items}

  def in_launcher(self, name: str, *command: str) -> str:
    """Returns what a command prints in the pod of a run's launcher.

    Raises:
      KubernetesError: the command fails, or the pod does not exist.
    """
    job = f'job/{name}-{manifests.LAUNCHER}-0'
    return self._call('exec', job, '--', *command)

  def stop(self, name: str) -> None:
    """Has all pods of a run save and stop, and waits for their end.

    The JobSet is suspended rather than deleted. Without it, the pods' host
    names would no longer be known while they stop.

    Raises:
      KubernetesError: the pods do not end, or not in time.
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
    """Removes the objects of a run, and waits until they are gone.

    Raises:
      KubernetesError: the cluster does not remove them, or not in time.
    """
    for kind in _KINDS:
      self._call(
        *('delete', kind, name, '--ignore-not-found', '--cascade=foreground'),
        f'--timeout={_STOP_SECS:.0f}s',
        timeout=_STOP_SECS + _COMMAND_SECS,
      )

  @property
  def flags(self) -> list[str]:
    """Returns the flags that tell kubectl the context and the namespace."""
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
        'this machine has no kubectl: install it, and give it a context of the '
        'cluster'
      ) from None
    except subprocess.TimeoutExpired:
      raise KubernetesError(
        f'kubectl {verb} did not answer for {timeout:.0f} s'
      ) from None
    if done.returncode:
      raise KubernetesError(_sentence(verb, done))
    return done.stdout


def _label(name: str) -> str:
  return f'{manifests.NAME_LABEL}={name}'


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
  """Returns a pod's phase, and the reason why it does not run, if any."""
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
      'kubectl has no context: name one with --kubernetes=context=NAME; '
      '`kubectl config get-contexts` lists them'
    )
  if any(each in text for each in _NO_JOB_SET):
    return (
      'the cluster has no JobSets: install the JobSet controller, as '
      'docs/backends/kubernetes.md says'
    )
  return f'kubectl {verb}: {text}'
