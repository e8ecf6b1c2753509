"""A stand-in for the API server of a cluster, to which the real kubectl talks.

It keeps objects that the published schemas take, and answers what kubectl asks
in these tests. No cluster stands behind it: a test itself puts pods there.
"""

import contextlib
import http.server
import json
import pathlib
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.backends.kubernetes import schemas

# The kinds by the path of a group and the name of a resource.
RESOURCES = {
  'api/v1': {'secrets': 'Secret', 'pods': 'Pod'},
  'apis/networking.k8s.io/v1': {'networkpolicies': 'NetworkPolicy'},
  'apis/jobset.x-k8s.io/v1alpha2': {'jobsets': 'JobSet'},
}
_VERBS = ['create', 'delete', 'get', 'list', 'patch', 'watch']


class Server:
  """The objects of a cluster.

  Attributes:
    objects: the objects, by resource and name.
    refused: the message and the reason of each refusal, by method and resource.
    on_patch: called after a patch, to do what the cluster would do.
  """

  def __init__(self):
    self.objects: dict[tuple[str, str], dict[str, Any]] = {}
    self.refused: dict[tuple[str, str], tuple[str, str]] = {}
    self.on_patch = lambda: None

  def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
    """Returns the status and the body of the answer to a request."""
    parts = path.strip('/').split('/')
    if 'namespaces' not in parts:
      return 200, _discovery(path.strip('/'))
    namespace, *rest = parts[parts.index('namespaces') + 1 :]
    if not rest:
      return 200, {
        'kind': 'Namespace',
        'apiVersion': 'v1',
        'metadata': {'name': namespace},
      }
    resource, *rest = rest
    if (method, resource) in self.refused:
      return _failure(403, *self.refused[method, resource])
    if method == 'POST':
      return self._create(resource, body)
    if not rest:
      items = [v for (kind, _), v in self.objects.items() if kind == resource]
      return 200, {'kind': 'List', 'apiVersion': 'v1', 'items': items}
    key = (resource, rest[0])
    found = self.objects.get(key)
    if found is None:
      return _failure(404, f'{resource} "{rest[0]}" not found', 'NotFound')
    if method == 'DELETE':
      del self.objects[key]
    if method == 'PATCH':
      found['spec'].update(body['spec'])
      self.on_patch()
    return 200, found

  def _create(self, resource: str, body: dict[str, Any]) -> tuple[int, Any]:
    key = (resource, body['metadata']['name'])
    if key in self.objects:
      message = f'{resource} "{key[1]}" already exists'
      return _failure(409, message, 'AlreadyExists')
    if errors := schemas.errors(body):
      return _failure(400, f'strict decoding error: {errors[0]}', 'BadRequest')
    self.objects[key] = body
    return 201, body


@contextlib.contextmanager
def running(directory: pathlib.Path) -> Iterator[Server]:
  """Starts a server that kubectl finds; skips the test without kubectl."""
  if shutil.which('kubectl') is None:
    pytest.skip('kubectl is missing: apt-get install kubernetes-client')
  server = Server()

  class Handler(http.server.BaseHTTPRequestHandler):
    def _handle(self):
      length = int(self.headers.get('Content-Length', 0))
      body = json.loads(self.rfile.read(length)) if length else None
      status, answer = server.answer(
        self.command, self.path.partition('?')[0], body
      )
      data = json.dumps(answer).encode()
      self.send_response(status)
      self.send_header('Content-Type', 'application/json')
      self.send_header('Content-Length', str(len(data)))
      self.end_headers()
      self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_DELETE = _handle

    def log_message(self, *args):
      del args

  with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as listener:
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    kubeconfig = directory / 'kubeconfig'
    kubeconfig.write_text(
      yaml.safe_dump(_kubeconfig(f'http://127.0.0.1:{listener.server_port}'))
    )
    with pytest.MonkeyPatch.context() as patch:
      patch.setenv('KUBECONFIG', str(kubeconfig))
      # Here kubectl caches what it has learnt of a server at that port.
      patch.setenv('KUBECACHEDIR', str(directory / 'kubecache'))
      try:
        yield server
      finally:
        listener.shutdown()
        thread.join(10)


def _kubeconfig(url: str) -> dict[str, Any]:
  return {
    'apiVersion': 'v1',
    'kind': 'Config',
    'clusters': [{'name': 'test', 'cluster': {'server': url}}],
    'contexts': [
      {'name': 'test', 'context': {'cluster': 'test', 'namespace': 'rl'}}
    ],
    'current-context': 'test',
  }


def _failure(code: int, message: str, reason: str) -> tuple[int, Any]:
  return code, {
    'kind': 'Status',
    'apiVersion': 'v1',
    'status': 'Failure',
    'message': message,
    'reason': reason,
    'code': code,
  }


def _discovery(path: str) -> Any:
  """Returns what kubectl asks about the server before it asks for objects."""
  groups = [path.split('/')[1:] for path in RESOURCES if path != 'api/v1']
  versions = [
    {'groupVersion': f'{name}/{version}', 'version': version}
    for name, version in groups
  ]
  return {
    'version': {'major': '1', 'minor': '32', 'gitVersion': 'v1.32.0'},
    'api': {'kind': 'APIVersions', 'versions': ['v1']},
    'apis': {
      'kind': 'APIGroupList',
      'apiVersion': 'v1',
      'groups': [
        {'name': name, 'versions': [each], 'preferredVersion': each}
        for (name, _), each in zip(groups, versions, strict=True)
      ],
    },
    'openapi/v3': {
      'paths': {
        group: {'serverRelativeURL': f'/openapi/v3/{group}'}
        for group in RESOURCES
      }
    },
  }.get(path) or _of_group(path)


def _of_group(path: str) -> Any:
  group = path.removeprefix('openapi/v3/')
  resources = RESOURCES.get(group, {})
  if group != path:
    return {'openapi': '3.0.0', 'paths': _openapi(group)}
  return {
    'kind': 'APIResourceList',
    'apiVersion': 'v1',
    'groupVersion': group.partition('/')[2],
    'resources': [
      {
        'name': name,
        'singularName': kind.lower(),
        'namespaced': True,
        'kind': kind,
        'verbs': _VERBS,
      }
      for name, kind in resources.items()
    ],
  }


def _openapi(group: str) -> Any:
  """Returns a description of the API in which unknown fields are refused."""
  *_, name, version = ['', *group.split('/')[1:]]
  return {
    f'/{group}/{resource}': {
      'patch': {
        'parameters': [{'name': 'fieldValidation', 'in': 'query'}],
        'x-kubernetes-group-version-kind': {
          'group': name,
          'version': version,
          'kind': kind,
        },
      }
    }
    for resource, kind in RESOURCES[group].items()
  }
