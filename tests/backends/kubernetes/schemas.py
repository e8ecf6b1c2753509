"""Published schemas of Kubernetes and of JobSet, for manifests to be held to.

An unknown field is an error, as it is to an API server that kubectl asks to be
strict.
"""

from typing import Any

import kubernetes_validate
import pydantic
from kubeflow_trainer_api import models

# The oldest that has all the fields as part of its stable or default API, and
# the newest that there are schemas of.
_VERSIONS = ('1.31', '1.37')


def errors(manifest: dict[str, Any]) -> list[str]:
  """Says what is wrong with a manifest; empty if nothing is."""
  if manifest['kind'] != 'JobSet':
    return _errors_of_kubernetes(manifest)
  return [
    *_errors_of_job_set(manifest),
    *(
      error
      for job in manifest['spec']['replicatedJobs']
      for error in _errors_of_kubernetes(
        {
          'apiVersion': 'batch/v1',
          'kind': 'Job',
          'metadata': {'name': job['name']},
          **job['template'],
        }
      )
    ),
  ]


def _errors_of_kubernetes(manifest: dict[str, Any]) -> list[str]:
  found = []
  for version in _VERSIONS:
    try:
      kubernetes_validate.validate(manifest, version, strict=True)
    except kubernetes_validate.ValidationError as e:
      found.append(f'{version}: {".".join(map(str, e.path))}: {e.message}')
  return found


def _errors_of_job_set(manifest: dict[str, Any]) -> list[str]:
  try:
    known = models.JobsetV1alpha2JobSet.from_dict(manifest).to_dict()
  except (pydantic.ValidationError, KeyError) as e:
    return [f'JobSet: {e}']
  # The models pass over what they do not know.
  return [f'JobSet: {path}' for path in _differences(manifest, known)]


def _differences(given: Any, known: Any, path: str = '') -> list[str]:
  if isinstance(given, list) and isinstance(known, list):
    given, known = dict(enumerate(given)), dict(enumerate(known))
  if isinstance(given, dict) and isinstance(known, dict):
    return [
      each
      for key in {*given, *known}
      for each in _differences(given.get(key), known.get(key), f'{path}.{key}')
    ]
  return [] if given == known else [f'{path}: {given!r} is read as {known!r}']
