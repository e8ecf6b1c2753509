"""The specification of a run's pods: containers, rights and volumes."""

from collections.abc import Mapping, Sequence
from typing import Any

from backends import resources as resources_lib
from backends.kubernetes import options as options_lib

_KEY_FOLDER = '/etc/launchpad'
# The daemon key: its name in the run's Secret, and its file in the pods.
KEY = 'key'
KEY_PATH = f'{_KEY_FOLDER}/{KEY}'
# The id of the user in `Dockerfile`.
_USER = 1000
# A stop takes 15 s at most. After that the launcher still writes the run's last
# files.
_GRACE_SECS = 45


def spec(
  own: str,
  role: str,
  command: Sequence[str],
  resources: resources_lib.Resources,
  options: options_lib.Options,
) -> dict[str, Any]:
  """Returns a pod's specification, without its restart policy.

  Args:
    own: the name of the run's objects.
    role: the role of the task in the pod; decides which options the pod has.
    command: the command of the pod's container.
    resources: the resources of the task in the pod.
    options: the run's options.
  """
  return {
    'terminationGracePeriodSeconds': _GRACE_SECS,
    'automountServiceAccountToken': False,
    'enableServiceLinks': False,
    # Otherwise the command is its container's first process, which ignores a
    # signal until it has a handler, and Python takes a while to set one.
    'shareProcessNamespace': True,
    'securityContext': {
      'runAsNonRoot': True,
      'runAsUser': _USER,
      'runAsGroup': _USER,
      # This group may write to the volume and read the key.
      'fsGroup': _USER,
      'fsGroupChangePolicy': 'OnRootMismatch',
      'seccompProfile': {'type': 'RuntimeDefault'},
    },
    'containers': [_container(role, command, resources, options)],
    'volumes': _volumes(own, options.claim),
    **_placement(options.of(role)),
  }


def _container(
  role: str,
  command: Sequence[str],
  resources: resources_lib.Resources,
  options: options_lib.Options,
) -> dict[str, Any]:
  memory = options.of(role).get(options_lib.MEMORY)
  mounts = {
    'run': {'mountPath': str(options.mount_path)},
    'key': {'mountPath': _KEY_FOLDER, 'readOnly': True},
    'shm': {'mountPath': '/dev/shm'},
  }
  return {
    'name': 'main',
    'image': options.run['image'],
    'command': list(command),
    'env': [{'name': 'PYTHONUNBUFFERED', 'value': '1'}],
    'resources': _resources(resources, memory),
    'securityContext': {
      'allowPrivilegeEscalation': False,
      'capabilities': {'drop': ['ALL']},
    },
    'volumeMounts': [{'name': k, **mount} for k, mount in mounts.items()],
  }


def _resources(
  resources: resources_lib.Resources, memory: str | None
) -> dict[str, Any]:
  requests = {'cpu': str(resources.cpu)}
  if memory:
    requests['memory'] = memory
  if not resources.gpu:
    return {'requests': requests}
  return {
    'requests': requests,
    'limits': {'nvidia.com/gpu': str(resources.gpu)},
  }


def _volumes(own: str, claim: str) -> list[dict[str, Any]]:
  return [
    {'name': 'run', 'persistentVolumeClaim': {'claimName': claim}},
    # Because of fsGroup, Kubernetes lets the group read the key too.
    {'name': 'key', 'secret': {'secretName': own, 'defaultMode': 0o400}},
    # Without this, a pod has 64 MB of shared memory, which may be too little
    # for the weights.
    {'name': 'shm', 'emptyDir': {'medium': 'Memory'}},
  ]


def _placement(of_role: Mapping[str, str]) -> dict[str, Any]:
  selector = _with_prefix(of_role, options_lib.SELECTOR)
  tolerations = [
    {'key': key, **({'value': value} if value else {'operator': 'Exists'})}
    for key, value in _with_prefix(of_role, options_lib.TOLERATION).items()
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
