"""Starts Python interpreters that have the same `sys.path` as this one."""

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
  """Saves this interpreter's `sys.path` for those that `command` starts.

  They get the same entries in the same order, and at the end the folder that
  holds `backends`. Launchpad's own workers reorder the path, so an installed
  package may hide a package of the program.

  Args:
    directory: path of the folder for the file.
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
    directory: path of the folder that was passed to `save_paths`. It becomes
      `argv[1]` of the new process.
    *args: `argv[2]` and the following ones of the new process.
  """
  code = _CODE.format(module=module)
  return [sys.executable, '-c', code, directory, *args]
