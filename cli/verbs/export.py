"""Writes the policy in a run's newest checkpoint to policy/ in its directory.

The run may still go on.
"""

import argparse
import os
import pathlib

from cli import finding, keeping, settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
  finding.add_run_dir(parser)


def run(arguments: argparse.Namespace) -> int:
  run_dir = pathlib.Path(arguments.run_dir).absolute()
  run_settings = settings.read(run_dir)
  # A run that still goes on needs the whole accelerator.
  os.environ['JAX_PLATFORMS'] = 'cpu'
  return 0 if keeping.keep_policy(run_dir, run_settings) else 1
