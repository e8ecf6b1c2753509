"""Modules of one's own, named on the command line: `module:PACKAGE.MODULE`."""

import importlib
import os
import sys
import traceback
import types

PREFIX = 'module:'


def load(name: str) -> types.ModuleType:
  """Imports a module as `python -m` finds it, from where one is too.

  Args:
    name: 'package.module'.

  Raises:
    ValueError: it cannot be imported.
  """
  # A launcher called by its path has its own folder there instead.
  if '' not in sys.path and os.getcwd() not in sys.path:
    sys.path.append(os.getcwd())
  try:
    return importlib.import_module(name)
  except (Exception, SystemExit) as e:
    frame = traceback.extract_tb(e.__traceback__)[-1]
    raise ValueError(
      f'{name} cannot be imported ({type(e).__name__}: {e}, at '
      f'{frame.filename}:{frame.lineno})'
    ) from e
