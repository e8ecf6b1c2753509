"""What goes wrong with an environment's name, in one sentence each."""

import difflib
import importlib.util
from collections.abc import Iterable


class UnknownEnvironmentError(ValueError):
  """No environment can be made from a name; the message says why."""


class UnfitEnvironmentError(ValueError):
  """No agent can use what an environment has or gives; the message says why."""


class CannotRenderError(ValueError):
  """An environment cannot be drawn; the message says why."""


def nearest(name: str, names: Iterable[str], prefix: str = '') -> str:
  """Returns those of `names` that resemble `name` most, as 'a, b, c'.

  Args:
    name: what was asked for.
    names: what there is.
    prefix: put before each name, so that it can be typed as it stands.
  """
  found = difflib.get_close_matches(name, list(names), n=3, cutoff=0)
  return ', '.join(prefix + n for n in found)


def require(name: str, modules: Iterable[str], extra: str) -> None:
  """Checks that optional packages are there, without importing them.

  Args:
    name: the environment that was asked for.
    modules: the top-level modules that it needs.
    extra: the extra in setup.cfg which brings them.

  Raises:
    UnknownEnvironmentError: one is not installed.
  """
  for module in modules:
    if importlib.util.find_spec(module) is None:
      raise UnknownEnvironmentError(
        f'{name} needs {module}, which is not installed: '
        f"pip install -e '.[{extra}]'"
      )
