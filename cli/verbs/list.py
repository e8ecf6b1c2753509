"""Lists the agents, and what each acts in and learns from."""

import argparse

from programs.agents import listing
from run_files import screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
  del parser  # This verb has no arguments.


def run(arguments: argparse.Namespace) -> int:
  del arguments
  screen.show(listing.text())
  return 0
