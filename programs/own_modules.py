"""Code of one's own: modules named on the command line, and their errors.

A module is named `module:PACKAGE.MODULE`. An error that its code raises, of
whatever type, is not a wrong usage of the command line: the module's author
needs the traceback.
"""

import contextlib
import importlib
import os
import pathlib
import sys
import traceback
import types
from collections.abc import Iterator

PREFIX = 'module:'
# The files that call code of one's own, from this repository's root.
_MACHINERY = (
  'cli/settings.py',
  'policies/play.py',
  'policies/video.py',
  'programs/agents/__init__.py',
  'programs/agents/shared/overrides.py',
  'programs/environments/__init__.py',
  'programs/environments/adapter.py',
  'programs/environments/forms.py',
  'programs/environments/gym.py',
  'programs/environments/module.py',
  'programs/own_modules.py',
  'programs/replay_tables.py',
)
_LIBRARIES = ('/site-packages/acme/', '/site-packages/gymnasium/')


class OwnCodeError(RuntimeError):
  """Code of one's own raised an error, which is the `__cause__` of this one.

  It is no `ValueError`, which would mean a wrong flag here.
  """

  def traceback(self) -> str:
    """Returns the traceback from the first line of one's own code on."""
    cause = self.__cause__
    frames = cause.__traceback__
    while frames.tb_next and _is_machinery(frames.tb_frame):
      frames = frames.tb_next
    # A file that is not Python raises in the import system itself.
    if frames.tb_frame.f_code.co_filename.startswith('<'):
      frames = None
    lines = traceback.format_exception(type(cause), cause, frames)
    return ''.join(lines).rstrip()


def _is_machinery(frame: types.FrameType) -> bool:
  path = frame.f_code.co_filename
  root = pathlib.Path(__file__).parents[1]
  files = {
    contextlib.__file__,
    importlib.__file__,
    *(str(root / name) for name in _MACHINERY),
  }
  # Code that `dataclasses` generates, or that is frozen, has no file.
  is_generated = path.startswith('<')
  return is_generated or path in files or any(x in path for x in _LIBRARIES)


@contextlib.contextmanager
def own_code(what: str, passed: tuple[type[Exception], ...] = ()) -> Iterator:
  """Turns errors raised inside into `OwnCodeError`s.

  Ctrl-C passes through.

  Args:
    what: whose code runs inside; the error's text begins with it.
    passed: errors by which this program refuses something; they pass through.

  Raises:
    OwnCodeError: the code raised an error, or called `sys.exit`.
  """
  try:
    yield
  except (OwnCodeError, KeyboardInterrupt, *passed):
    raise
  except BaseException as e:
    text = f'{what} raised {type(e).__name__}: {e}'
    raise OwnCodeError(text) from e


def load(name: str) -> types.ModuleType:
  """Imports a module, also from the current folder, as `python -m` does.

  Args:
    name: the module's full name, such as 'package.module'.

  Raises:
    OwnCodeError: the module exists, and raises an error.
    ValueError: the module does not exist.
  """
  # If the launcher was called by its path, its own folder stands there instead.
  if '' not in sys.path and os.getcwd() not in sys.path:
    sys.path.append(os.getcwd())
  if '' in name.split('.'):
    raise ValueError(f"{name!r} cannot be imported: it is no module's name")
  with own_code(f'the import of {name}', (_NotFoundError,)):
    try:
      return importlib.import_module(name)
    except ModuleNotFoundError as e:
      # The missing module may also be one that this module imports.
      if e.name is None or not f'{name}.'.startswith(f'{e.name}.'):
        raise
      raise _NotFoundError(
        f'{name} cannot be imported: there is no module {e.name} here or among '
        'what is installed'
      ) from e


class _NotFoundError(ValueError):
  """The module does not exist."""
