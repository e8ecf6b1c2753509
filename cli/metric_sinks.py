"""What training and the verb `send-metrics` do alike with `--metrics`."""

from collections.abc import Sequence

from cli.settings import WrongUsage
from reporting import sinks
from run_files import screen


def check(names: Sequence[str]) -> None:
  """Checks the value of `--metrics`.

  Raises:
    WrongUsage: one of the names is no sink of metrics.
  """
  try:
    sinks.check(names)
  except ValueError as e:
    raise WrongUsage(f'--metrics: {e}') from e


def show(line: str) -> None:
  """Prints a line about the sinks as if a process of the run had printed it."""
  screen.show(f'[metrics/0] {line}')
