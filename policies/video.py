"""A video of an environment while a policy plays in it."""

import contextlib
import importlib.util
import pathlib
import warnings
from collections.abc import Callable, Iterator

import dm_env

from programs import environments
from programs.environments import errors, pictures

_ENDING = '.mp4'
_PACKAGES = ('imageio', 'imageio_ffmpeg')


def check(path: str | pathlib.Path, env: str, seed: int) -> None:
  """Checks that a video can be made, before an episode is played.

  Args:
    path: the video's file, which need not exist yet.
    env: the environment's name, as in `--env`.
    seed: the environment's seed, a uint32.

  Raises:
    own_modules.OwnCodeError: the environment raised an error.
    ValueError: no video can be made; the message says why.
  """
  path = pathlib.Path(path)
  if path.suffix != _ENDING:
    raise ValueError(f'{path} is not the name of a video; end it in {_ENDING}')
  if not path.absolute().parent.is_dir():
    raise ValueError(f'there is no folder {path.parent}; make it first')
  for package in _PACKAGES:
    if importlib.util.find_spec(package) is None:
      raise ValueError(
        f'a video needs {package}, which is not installed: pip install -e '
        "'.[video]'"
      )
  try:
    with environments.own_code(env):
      environment = environments.make_environment_factory(env)(seed)
      try:
        environment.reset()
        pictures.picture(environment)
      finally:
        environment.close()
  except errors.CannotRenderError as e:
    raise ValueError(f'no video of {env} can be made: {e}') from e


@contextlib.contextmanager
def recording(
  path: str | pathlib.Path,
) -> Iterator[Callable[[dm_env.Environment], None]]:
  """Yields a function that adds a picture of an environment to a video.

  Args:
    path: the video's file. It is complete when the `with` block ends. If it
      exists, it is replaced.

  Raises:
    OSError: the file cannot be written.
  """
  import imageio

  # JAX warns about forks. This one is harmless: imageio forks to start ffmpeg,
  # and the child process runs ffmpeg at once.
  warnings.filterwarnings('ignore', 'os.fork', RuntimeWarning)
  with contextlib.ExitStack() as stack:
    writer = None

    def add(environment: dm_env.Environment) -> None:
      nonlocal writer
      if writer is None:
        fps = pictures.frames_per_second(environment)
        writer = stack.enter_context(
          # The codec needs even sizes. Imageio's default is multiples of 16.
          imageio.get_writer(path, fps=fps, macro_block_size=2)
        )
      writer.append_data(pictures.picture(environment))

    yield add
