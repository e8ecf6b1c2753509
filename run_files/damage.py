"""Files of a run whose content is not what the program wrote."""

import json
import pathlib
from typing import Any


class DamagedError(RuntimeError):
  """A file is damaged. The text names it, and the way out if there is one."""


def read_json(path: str | pathlib.Path) -> Any:
  """Returns the value in a JSON file.

  Raises:
    OSError: the file cannot be read.
    DamagedError: the file holds no JSON.
  """
  try:
    return json.loads(pathlib.Path(path).read_text('utf-8'))
  except (IsADirectoryError, ValueError, RecursionError) as e:
    raise DamagedError(f'{path} is damaged: {e}') from None
