"""Starts interpreters with the search path for imports of this one."""

import json
import os
import pathlib
import sys

_PATHS_FILE = 'sys_path.json'
_CODE = (
  'import importlib, json, sys; directory = sys.argv[1]; '
  f'sys.path[:] = json.load(open(directory + "/{_PATHS_FILE}")); '
  'sys.exit(importlib.import_module("{module}").main())'
)


def save_paths(directory: str) -> None:
  """Writes this interpreter's search path down for those that `command` starts.

  They get the whole path in the same order, and the folder of `backends` itself
  at the end. Launchpad's own workers reorder the path, so that an installed
  package may hide one of the program's.

  Args:
    directory: path of the folder to write it in.
  """
  home = str(pathlib.Path(__file__).parents[2])
  paths = [os.path.abspath(path) for path in sys.path]
  if home not in paths:
    paths.append(home)
  with open(os.path.join(directory, _PATHS_FILE), 'w') as f:
    json.dump(paths, f)


def command(module: str, directory: str, *args: str) -> list[str]:
  """Returns the command that runs `<module>.main()`.

  Args:
    module: the module's full name.
    directory: the folder that `save_paths` wrote in; `argv[1]` there.
    *args: `argv[2]` and so on.
  """
  code = _CODE.format(module=module)
  return [sys.executable, '-c', code, directory, *args]
