"""What goes wrong with an environment's name, in one sentence each."""

import difflib
import importlib.util
from collections.abc import Iterable


class UnknownEnvironmentError(ValueError):
  """No environment can be made from a name; the message says why."""


def nearest(name: str, names: Iterable[str], prefix: str = '') -> str:
  """Returns ' Nearest: a, b.' for those of `names` like `name`, or ''."""
  found = difflib.get_close_matches(name, list(names), n=3, cutoff=0.5)
  return f'; nearest: {", ".join(prefix + n for n in found)}' if found else ''


def require(name: str, module: str, extra: str) -> None:
  """Checks that an optional package is there, without importing it.

  Args:
    name: the environment that was asked for.
    module: the top-level module that it needs.
    extra: the extra in setup.cfg which brings that module.

  Raises:
    UnknownEnvironmentError: `module` is not installed.
  """
  if importlib.util.find_spec(module) is None:
    raise UnknownEnvironmentError(
      f'{name} needs {module}, which is not installed: '
      f"pip install -e '.[{extra}]'"
    )
