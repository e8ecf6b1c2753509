"""Sends a run's metrics to TensorBoard, a file or Weights & Biases.

Only rows that are not there yet are sent. A run does this by itself while it
goes on.
"""

import argparse
import pathlib

from cli import finding, metric_sinks, settings
from reporting.sinks import followers

# It may be long: no run waits for this verb, only the person who typed it.
_SECONDS = 600


def add_arguments(parser: argparse.ArgumentParser) -> None:
  finding.add_run_dir(parser)
  parser.add_argument(
    '--metrics',
    default='tensorboard',
    metavar='NAMES',
    help='where the metrics go: any of tensorboard, jsonl and wandb, with '
    'commas between; tensorboard if you name none',
  )


def run(arguments: argparse.Namespace) -> int:
  """Sends the rows that the sinks lack.

  Raises:
    settings.WrongUsage: there is no run, or no such sink.
  """
  names = [name for name in arguments.metrics.split(',') if name]
  metric_sinks.check(names)
  if not names:
    raise settings.WrongUsage('say where to send metrics with --metrics')
  run_dir = pathlib.Path(arguments.run_dir).absolute()
  settings.read(run_dir)
  sent = followers.send(names, run_dir, metric_sinks.show, _SECONDS)
  for follower in sent:
    if follower.has_all:
      metric_sinks.show(f'{follower.name}: has all rows of {run_dir}')
  return 0 if all(follower.has_all for follower in sent) else 1
