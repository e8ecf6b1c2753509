"""Files of a run that hold something else than the program wrote."""

import json
import pathlib
from typing import Any


class DamagedError(RuntimeError):
  """A file is damaged; the text names it, and the way out if there is one."""


def read_json(path: str | pathlib.Path) -> Any:
  """Returns what a JSON file holds.

  Raises:
    OSError: it cannot be read.
    DamagedError: it holds something else.
  """
  try:
    return json.loads(pathlib.Path(path).read_text('utf-8'))
  except (IsADirectoryError, ValueError, RecursionError) as e:
    raise DamagedError(f'{path} is damaged: {e}') from None
