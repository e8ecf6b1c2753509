"""What training and the verb `send-metrics` share about `--metrics`."""

from collections.abc import Sequence

from cli.settings import WrongUsage
from reporting import sinks
from run_files import screen


def check(names: Sequence[str]) -> None:
  """Checks the value of `--metrics`.

  Raises:
    WrongUsage: no sink has one of the names, or its package is missing.
  """
  try:
    sinks.check(names)
  except ValueError as e:
    raise WrongUsage(f'--metrics: {e}') from e


def show(line: str) -> None:
  """Prints a line about the sinks, with a prefix like that of tasks' lines."""
  screen.show(f'[metrics/0] {line}')
