"""Checks manifests against the published schemas of Kubernetes and JobSet.

An unknown field is an error, as it is for an API server that kubectl asks to be
strict.
"""

from typing import Any

import kubernetes_validate
import pydantic
from kubeflow_trainer_api import models

# The oldest version that has all the fields in its stable or default API, and
# the newest version whose schemas are published.
_VERSIONS = ('1.31', '1.37')


def errors(manifest: dict[str, Any]) -> list[str]:
  """Returns sentences about what is wrong with a manifest, or none."""
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
  # The models leave out fields that they do not know.
  return [f'JobSet: {path}' for path in _differences(manifest, known)]


def _differences(written: Any, known: Any, path: str = '') -> list[str]:
  if isinstance(written, list) and isinstance(known, list):
    written, known = dict(enumerate(written)), dict(enumerate(known))
  if isinstance(written, dict) and isinstance(known, dict):
    return [
      each
      for key in {*written, *known}
      for each in _differences(
        written.get(key), known.get(key), f'{path}.{key}'
      )
    ]
  return (
    [] if written == known else [f'{path}: {written!r} is read as {known!r}']
  )
