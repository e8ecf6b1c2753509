"""Code of one's own: modules named on the command line, and what they raise.

A module is named `module:PACKAGE.MODULE`. What its code raises is no wrong
usage of the command line, whatever its type: its author needs the traceback.
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
  'programs/environments/adapter.py',
  'programs/environments/factory.py',
  'programs/environments/forms.py',
  'programs/environments/gym.py',
  'programs/environments/module.py',
  'programs/own_modules.py',
  'programs/replay_tables.py',
)
_LIBRARIES = ('/site-packages/acme/', '/site-packages/gymnasium/')


class OwnCodeError(RuntimeError):
  """Code of one's own raised; `__cause__` is what.

  It is no `ValueError`, which here would mean a wrong flag.
  """

  def traceback(self) -> str:
    """Returns the traceback from one's own code on."""
    cause = self.__cause__
    frames = cause.__traceback__
    while frames.tb_next and _is_machinery(frames.tb_frame):
      frames = frames.tb_next
    # A module that is no Python raises in the import system itself.
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
  # What `dataclasses` and `importlib` generate or freeze has no file.
  is_generated = path.startswith('<')
  return is_generated or path in files or any(x in path for x in _LIBRARIES)


@contextlib.contextmanager
def own_code(what: str, passed: tuple[type[Exception], ...] = ()) -> Iterator:
  """Marks what is raised inside as one's own code's.

  Args:
    what: whose code it is, the beginning of the error's text.
    passed: refusals of ours, which may be raised in between.

  Raises:
    OwnCodeError: it raised, or called `sys.exit`; for Ctrl-C that goes through.
  """
  try:
    yield
  except (OwnCodeError, KeyboardInterrupt, *passed):
    raise
  except BaseException as e:
    text = f'{what} raised {type(e).__name__}: {e}'
    raise OwnCodeError(text) from e


def load(name: str) -> types.ModuleType:
  """Imports a module as `python -m` finds it, from where one is too.

  Args:
    name: 'package.module'.

  Raises:
    OwnCodeError: it is there, and raises.
    ValueError: it is not there.
  """
  # A launcher called by its path has its own folder there instead.
  if '' not in sys.path and os.getcwd() not in sys.path:
    sys.path.append(os.getcwd())
  if '' in name.split('.'):
    raise ValueError(f"{name!r} cannot be imported: it is no module's name")
  with own_code(f'the import of {name}', (_NotFoundError,)):
    try:
      return importlib.import_module(name)
    except ModuleNotFoundError as e:
      # One that it imports may be missing as well.
      if e.name is None or not f'{name}.'.startswith(f'{e.name}.'):
        raise
      raise _NotFoundError(
        f'{name} cannot be imported: there is no module {e.name} here or among '
        'what is installed'
      ) from e


class _NotFoundError(ValueError):
  """There is no such module."""
