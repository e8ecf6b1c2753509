"""The container images of a program on Vertex AI, which Launchpad builds.

Launchpad makes an image from a folder of code and a list of packages, and one
pool of machines for all roles with equal resources. This module gives it the
folder, the list and Docker instructions. Launchpad's own instructions do not
work: they ask for a package that the Debian of `python:3.10` does not have, and
they copy a whole repository.
"""

import contextlib
import functools
import pathlib
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import launchpad as lp

from backends import resources as resources_lib

# The packages of the extra `vertex` in setup.cfg.
PACKAGES = (
  'google-cloud-aiplatform==1.60.0',
  'shapely==1.8.5.post1',
  'xmanager==0.3.0',
)
_GPU_PACKAGES = ('jax[cuda12]==0.6.2',)
_PIN = re.compile(r'^([\w.\[\]-]+==\S+)', re.MULTILINE)


def gpu_kinds() -> list[str]:
  """Returns the kinds of accelerators that XManager has a name for.

  Raises:
    ImportError: XManager is not installed.
  """
  from xmanager import xm

  return sorted(kind.name for kind in xm.GpuType)


def copy_code(root: pathlib.Path, into: pathlib.Path) -> None:
  """Copies a repository's modules and packages, and nothing else.

  Args:
    root: the repository.
    into: the folder for the copy, which is made.
  """
  into.mkdir()
  for path in sorted(root.iterdir()):
    if (path / '__init__.py').exists():
      ignored = shutil.ignore_patterns('__pycache__')
      shutil.copytree(path, into / path.name, ignore=ignored)
    elif path.suffix == '.py':
      shutil.copy(path, into)


def requirements(lock: str, gpu: bool) -> str:
  """Returns the list of an image's packages.

  Args:
    lock: the text of a lock file.
    gpu: whether to add the packages with which JAX computes on GPUs.
  """
  # The hashes are left out. With them, pip would want one for `PACKAGES` too.
  pins = _PIN.findall(lock)
  return '\n'.join([*pins, *PACKAGES, *(_GPU_PACKAGES if gpu else ()), ''])


def docker_configs(
  groups: Collection[str],
  resources: Mapping[str, resources_lib.Resources],
  gpu_kind: str,
  code: pathlib.Path,
  requirements_path: pathlib.Path,
) -> dict[str, Any]:
  """Returns Launchpad's `DockerConfig` of each label.

  Args:
    groups: the program's labels.
    resources: the resources of each task by label; a label that is missing has
      `Resources()`, the least.
    gpu_kind: one of `gpu_kinds()`.
    code: path of the folder with the code.
    requirements_path: path of the file with the list of packages.

  Raises:
    ImportError: XManager is not installed.
  """
  from launchpad.nodes.python import xm_docker
  from xmanager import xm

  @functools.cache
  def config(own: resources_lib.Resources):
    gpus = {gpu_kind: own.gpu} if own.gpu else {}
    needs = xm.JobRequirements(cpu=own.cpu, **gpus)
    return xm_docker.DockerConfig(str(code), str(requirements_path), needs)

  least = resources_lib.Resources()
  return {label: config(resources.get(label, least)) for label in groups}


def launch(
  program: lp.Program, configs: Mapping[str, Any], env: Mapping[str, str]
) -> None:
  """Builds the images and submits the job.

  It returns once the cloud has the job.

  Args:
    program: the program.
    configs: Launchpad's `DockerConfig` by label.
    env: the environment variables of all containers.
  """
  with _instructions(env):
    lp.launch(program, lp.LaunchType.VERTEX_AI, xm_resources=dict(configs))


@contextlib.contextmanager
def _instructions(env: Mapping[str, str]) -> Iterator[None]:
  """Has Launchpad use this module's instructions while the body runs."""
  from launchpad.nodes.python import xm_docker

  make = xm_docker.to_docker_executables

  def make_ours(nodes: Sequence[Any], label: str, config: Any):
    executables = make(nodes, label, config)
    for container, _ in executables:
      folder = pathlib.Path(container.path).name
      container.docker_instructions = [
        'RUN python -m pip install uv',
        f'COPY {folder}/requirements.txt requirements.txt',
        'RUN uv pip install --system -r requirements.txt',
        *(f'ENV {name}="{value}"' for name, value in env.items()),
        f'COPY {folder}/ {folder}',
        f'WORKDIR {folder}',
      ]
    return executables

  xm_docker.to_docker_executables = make_ours
  try:
    yield
  finally:
    xm_docker.to_docker_executables = make
