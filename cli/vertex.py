"""Has a run begin on Vertex AI: `--lp_launch_type=vertex_ai`."""

import os
import pathlib
import tempfile

from backends import resources as resources_lib
from cli import launching
from cli import settings as settings_lib

# Where Vertex AI has all buckets of the project, in every container.
_BUCKETS = pathlib.Path('/gcs')
_BUCKET_VARIABLE = 'GOOGLE_CLOUD_BUCKET_NAME'
_DEFAULT_GPU = 'T4'
_ROOT = pathlib.Path(__file__).parents[1]
_ENV = {'TF_CPP_MIN_LOG_LEVEL': '2'}


def gpu_kind(text: str) -> str:
  """Returns the kind of accelerator that `--vertex` asks for.

  Args:
    text: `gpu=KIND`, or empty.

  Raises:
    settings_lib.WrongUsage: it asks for something else.
  """
  try:
    items = resources_lib.split(text).get(None, {})
  except ValueError as e:
    raise settings_lib.WrongUsage(f'--vertex: {e}') from e
  if text and set(items) != {'gpu'}:
    raise settings_lib.WrongUsage(
      f'--vertex: expected the kind of GPU, as in gpu=T4, got {text!r}'
    )
  return items.get('gpu', _DEFAULT_GPU).upper()


def check(text: str, run_dir: pathlib.Path) -> None:
  """Checks what can be checked without the program.

  Raises:
    settings_lib.WrongUsage: something is wrong.
  """
  from backends.vertex import launchpad_vertex

  kind = gpu_kind(text)
  try:
    kinds = launchpad_vertex.gpu_kinds()
  except ImportError as e:
    raise settings_lib.WrongUsage(
      f'--lp_launch_type=vertex_ai needs XManager ({e}): '
      '.venv/bin/uv pip install -r tools/vertex.lock'
    ) from e
  if kind not in kinds:
    raise settings_lib.WrongUsage(
      f'--vertex: there is no GPU {kind!r} (of {", ".join(kinds)})'
    )
  if not os.environ.get(_BUCKET_VARIABLE):
    raise settings_lib.WrongUsage(
      '--lp_launch_type=vertex_ai: name a bucket for images and logs: '
      f'export {_BUCKET_VARIABLE}=BUCKET'
    )
  if _BUCKETS not in run_dir.parents:
    raise settings_lib.WrongUsage(
      f'--run_dir: on Vertex AI it is in a bucket, {_BUCKETS}/BUCKET/NAME; '
      f'mount that here too: gcsfuse BUCKET {_BUCKETS}/BUCKET'
    )


def submit(
  settings: settings_lib.Settings,
  run_dir: pathlib.Path,
  given: dict[str, resources_lib.Resources],
  text: str,
) -> int:
  """Has the program run there; returns once it is submitted.

  Args:
    settings: of the run.
    run_dir: of the run, in a bucket.
    given: resources by role.
    text: of `--vertex`.

  Returns:
    The exit code.

  Raises:
    settings_lib.WrongUsage: the program cannot be made.
  """
  from backends.vertex import launchpad_vertex

  program = launching.make_program(settings, run_dir, given)
  has_gpu = any(own.gpu for own in given.values())
  with tempfile.TemporaryDirectory() as folder:
    code = pathlib.Path(folder) / 'code'
    launchpad_vertex.copy_code(_ROOT, code)
    packages = pathlib.Path(folder) / 'requirements.txt'
    lock = (_ROOT / 'requirements.lock').read_text()
    packages.write_text(launchpad_vertex.requirements(lock, has_gpu))
    configs = launchpad_vertex.docker_configs(
      program.groups, given, gpu_kind(text), code, packages
    )
    launchpad_vertex.launch(program, configs, _ENV)
  print(f'{"run directory":<15}{run_dir}  (in a bucket)')
  return 0
