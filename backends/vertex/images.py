"""Runs a Launchpad program on Vertex AI, by Launchpad's own launch type.

Launchpad makes a container image of a folder of code and a list of packages,
and a pool of machines of the roles that are given the same. Here it gets both,
and instructions by which the image can be built: its own ask for a package
that Debian under `python:3.10` does not have, and copy all of a repository.
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

# As of setup.cfg's extra `vertex`.
PACKAGES = (
  'google-cloud-aiplatform==1.60.0',
  'shapely==1.8.5.post1',
  'xmanager==0.3.0',
)
_GPU_PACKAGES = ('jax[cuda12]==0.6.2',)
_PIN = re.compile(r'^([\w.\[\]-]+==\S+)', re.MULTILINE)


def gpu_kinds() -> list[str]:
  """The kinds of accelerators that XManager has a name for.

  Raises:
    ImportError: XManager is not installed.
  """
  from xmanager import xm

  return sorted(kind.name for kind in xm.GpuType)


def copy_code(root: pathlib.Path, into: pathlib.Path) -> None:
  """Copies a repository's modules and packages, less all else that is there.

  Args:
    root: of the repository.
    into: a folder, which is made.
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
    lock: a lock file's text.
    gpu: whether JAX is to compute on an accelerator.
  """
  # Without hashes, which pip would then ask of what is added too.
  pins = _PIN.findall(lock)
  return '\n'.join([*pins, *PACKAGES, *(_GPU_PACKAGES if gpu else ()), ''])


def docker_configs(
  groups: Collection[str],
  given: Mapping[str, resources_lib.Resources],
  gpu_kind: str,
  code: pathlib.Path,
  requirements_path: pathlib.Path,
) -> dict[str, Any]:
  """Returns Launchpad's `DockerConfig` of each label.

  Args:
    groups: the program's labels.
    given: resources by label; labels that are not there have the least.
    gpu_kind: one of `gpu_kinds()`.
    code: the folder of the code.
    requirements_path: of the list of packages.

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
  return {label: config(given.get(label, least)) for label in groups}


def launch(
  program: lp.Program, configs: Mapping[str, Any], env: Mapping[str, str]
) -> None:
  """Builds the images and starts the job; returns once it is the cloud's.

  Args:
    program: the program, built.
    configs: by label.
    env: environment variables of all containers.
  """
  with _instructions(env):
    lp.launch(program, lp.LaunchType.VERTEX_AI, xm_resources=dict(configs))


@contextlib.contextmanager
def _instructions(env: Mapping[str, str]) -> Iterator[None]:
  """Has Launchpad give its containers our instructions meanwhile."""
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
