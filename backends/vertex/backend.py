"""A run on Google's Vertex AI: submitted by Launchpad's own launch type."""

import os
import pathlib
import tempfile

from backends import api
from backends import resources as resources_lib

# The folder with all buckets of the project, in every container of Vertex AI.
_BUCKETS = pathlib.Path('/gcs')
_BUCKET_VARIABLE = 'GOOGLE_CLOUD_BUCKET_NAME'
_DEFAULT_GPU = 'T4'
_ROOT = pathlib.Path(__file__).parents[2]
_ENV_VARS = {'TF_CPP_MIN_LOG_LEVEL': '2'}


class VertexBackend(api.Backend):
  """Has Launchpad build images of this repository and submit the program."""

  FLAGS = (
    api.Flag(
      'vertex',
      '',
      'The kind of GPU for --lp_launch_type=vertex_ai; without it, gpu=T4.',
    ),
  )
  SUBMITS = True

  def __init__(
    self, name: str, resources: api.ResourcesByLabel, vertex: str = ''
  ):
    self.name = name
    self.resources = resources
    self._gpu_kind = gpu_kind(vertex)

  def check(self, run_dir, dry_run):
    from backends.vertex import images

    del dry_run
    try:
      kinds = images.gpu_kinds()
    except ImportError as e:
      raise api.RefusedError(
        f'--lp_launch_type=vertex_ai needs XManager ({e}): '
        '.venv/bin/uv pip install -r tools/vertex.lock'
      ) from e
    if self._gpu_kind not in kinds:
      raise api.RefusedError(
        f'--vertex: there is no GPU {self._gpu_kind!r} (of {", ".join(kinds)})'
      )
    if not os.environ.get(_BUCKET_VARIABLE):
      raise api.RefusedError(
        '--lp_launch_type=vertex_ai needs a bucket for images and logs: '
        f'export {_BUCKET_VARIABLE}=BUCKET'
      )
    if _BUCKETS not in run_dir.parents:
      raise api.RefusedError(
        '--run_dir: on Vertex AI the run directory must be in a bucket, '
        f'{_BUCKETS}/BUCKET/NAME; mount the bucket on this machine too: '
        f'gcsfuse BUCKET {_BUCKETS}/BUCKET'
      )

  def submit(self, submission):
    from backends.vertex import images

    program = submission.program
    has_gpu = any(own.gpu for own in self.resources.values())
    with tempfile.TemporaryDirectory() as folder:
      code = pathlib.Path(folder) / 'code'
      images.copy_code(_ROOT, code)
      packages = pathlib.Path(folder) / 'requirements.txt'
      lock = (_ROOT / 'requirements.lock').read_text()
      packages.write_text(images.requirements(lock, has_gpu))
      configs = images.docker_configs(
        program.groups, self.resources, self._gpu_kind, code, packages
      )
      images.launch(program, configs, _ENV_VARS)
    return api.Submitted('in a bucket')


def gpu_kind(text: str) -> str:
  """Returns the kind of accelerator that `--vertex` asks for.

  Args:
    text: `gpu=KIND`, or empty.

  Raises:
    RefusedError: the text is something else.
  """
  try:
    items = resources_lib.split(text).get(None, {})
  except ValueError as e:
    raise api.RefusedError(f'--vertex: {e}') from e
  if text and set(items) != {'gpu'}:
    raise api.RefusedError(
      f'--vertex: expected the kind of GPU, as in gpu=T4, got {text!r}'
    )
  return items.get('gpu', _DEFAULT_GPU).upper()
