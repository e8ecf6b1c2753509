"""Errors that say what is wrong with an environment or its name."""

import difflib
import importlib.util
from collections.abc import Iterable


class UnknownEnvironmentError(ValueError):
  """No environment can be made from a name; the message says why."""


class UnfitEnvironmentError(ValueError):
  """No agent can use an environment's specs or values; the message says why."""


class CannotRenderError(ValueError):
  """An environment cannot be drawn; the message says why."""


def nearest(name: str, names: Iterable[str], prefix: str = '') -> str:
  """Returns those of `names` that resemble `name` most, as 'a, b, c'.

  Args:
    name: the name that was asked for.
    names: all names that exist.
    prefix: the text that a user types before each name.
  """
  found = difflib.get_close_matches(name, list(names), n=3, cutoff=0)
  return ', '.join(prefix + n for n in found)


def require(name: str, modules: Iterable[str], extra: str) -> None:
  """Checks that optional packages are installed, without importing them.

  Args:
    name: the environment that was asked for.
    modules: the top-level modules that the environment needs.
    extra: the extra in setup.cfg that installs them.

  Raises:
    UnknownEnvironmentError: a module is not installed.
  """
  for module in modules:
    if importlib.util.find_spec(module) is None:
      raise UnknownEnvironmentError(
        f'{name} needs {module}, which is not installed: '
        f"pip install -e '.[{extra}]'"
      )
