"""What each pod of a run on Kubernetes has: a container, rights, volumes."""

from collections.abc import Mapping, Sequence
from typing import Any

from backends import resources as resources_lib
from backends.kubernetes import options as kubernetes_options

_KEY_FOLDER = '/etc/launchpad'
# In the run's Secret, and of the file that pods have of it.
KEY = 'key'
KEY_PATH = f'{_KEY_FOLDER}/{KEY}'
# Of the user in `Dockerfile`.
_USER = 1000
# A stop takes 15 s at most, and what came of the run is written after that.
_GRACE_SECS = 45


def spec(
  own: str,
  role: str,
  command: Sequence[str],
  given: resources_lib.Resources,
  options: kubernetes_options.Options,
) -> dict[str, Any]:
  """Returns a pod's specification, but for when it restarts.

  Args:
    own: the name of the run's objects.
    role: whose options it has.
    command: what it runs.
    given: what it is given of its node.
    options: of the run.
  """
  of_role = options.of(role)
  mounts = {
    'run': {'mountPath': str(options.mount_path)},
    'key': {'mountPath': _KEY_FOLDER, 'readOnly': True},
    'shm': {'mountPath': '/dev/shm'},
  }
  container = {
    'name': 'main',
    'image': options.run['image'],
    'command': list(command),
    'env': [{'name': 'PYTHONUNBUFFERED', 'value': '1'}],
    'resources': _resources(given, of_role.get(kubernetes_options.MEMORY)),
    'securityContext': {
      'allowPrivilegeEscalation': False,
      'capabilities': {'drop': ['ALL']},
    },
    'volumeMounts': [{'name': k, **mount} for k, mount in mounts.items()],
  }
  return {
    'terminationGracePeriodSeconds': _GRACE_SECS,
    'automountServiceAccountToken': False,
    'enableServiceLinks': False,
    # The first process of a container that has its own does not hear signals
    # before it has handlers, which the interpreter's start takes.
    'shareProcessNamespace': True,
    'securityContext': {
      'runAsNonRoot': True,
      'runAsUser': _USER,
      'runAsGroup': _USER,
      # Who may write to the volume and read the key.
      'fsGroup': _USER,
      'fsGroupChangePolicy': 'OnRootMismatch',
      'seccompProfile': {'type': 'RuntimeDefault'},
    },
    'containers': [container],
    'volumes': _volumes(own, options.claim),
    **_placement(of_role),
  }


def _resources(
  given: resources_lib.Resources, memory: str | None
) -> dict[str, Any]:
  requests = {'cpu': str(given.cpu)}
  if memory:
    requests['memory'] = memory
  if not given.gpu:
    return {'requests': requests}
  return {
    'requests': requests,
    'limits': {'nvidia.com/gpu': str(given.gpu)},
  }


def _volumes(own: str, claim: str) -> list[dict[str, Any]]:
  return [
    {'name': 'run', 'persistentVolumeClaim': {'claimName': claim}},
    # The group's right to read it is Kubernetes' own addition, for fsGroup.
    {'name': 'key', 'secret': {'secretName': own, 'defaultMode': 0o400}},
    # A pod's own has 64 MB, less than the weights may take.
    {'name': 'shm', 'emptyDir': {'medium': 'Memory'}},
  ]


def _placement(of_role: Mapping[str, str]) -> dict[str, Any]:
  selector = _with_prefix(of_role, kubernetes_options.SELECTOR)
  tolerations = [
    {'key': key, **({'value': value} if value else {'operator': 'Exists'})}
    for key, value in _with_prefix(
      of_role, kubernetes_options.TOLERATION
    ).items()
  ]
  return {
    **({'nodeSelector': selector} if selector else {}),
    **({'tolerations': tolerations} if tolerations else {}),
  }


def _with_prefix(items: Mapping[str, str], prefix: str) -> dict[str, str]:
  return {
    name.removeprefix(prefix): value
    for name, value in items.items()
    if name.startswith(prefix)
  }
