"""Own code: modules that the user names on the command line, and their errors.

A flag names a module as `module:PACKAGE.MODULE`. If the module's code raises an
error, of any type, then the flag itself is not wrong. The module's author needs
the traceback of the error.
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
# The files that call own code, by their paths from this repository's root.
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
  """The user's own code raised an error, which is this error's `__cause__`.

  This is no `ValueError`, since a `ValueError` means here that a flag is wrong.
  """

  def traceback(self) -> str:
    """Returns the traceback, beginning at the first line of own code."""
    cause = self.__cause__
    frames = cause.__traceback__
    while frames.tb_next and _is_machinery(frames.tb_frame):
      frames = frames.tb_next
    # The import system itself raises for a file that is not valid Python.
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
  # Frozen code, and code that `dataclasses` generates, has no file.
  is_generated = path.startswith('<')
  return is_generated or path in files or any(x in path for x in _LIBRARIES)


@contextlib.contextmanager
def own_code(what: str, passed: tuple[type[Exception], ...] = ()) -> Iterator:
  """Turns an error that is raised in the `with` block into an `OwnCodeError`.

  A `KeyboardInterrupt`, which Ctrl-C causes, is left as it is.

  Args:
    what: names the own code that runs in the block. The error's text begins
      with it.
    passed: types of errors that this program itself raises in the block. They
      are left as they are.

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
  """Imports a module, as `python -m` does: the current folder is searched too.

  Args:
    name: the module's full name, such as 'package.module'.

  Raises:
    OwnCodeError: the module exists, but its import raised an error.
    ValueError: the module does not exist.
  """
  # If the launcher was called by its path, `sys.path` has the launcher's folder
  # instead of the current one.
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
        'the installed packages'
      ) from e


class _NotFoundError(ValueError):
  """The module does not exist."""
