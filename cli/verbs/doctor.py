"""Says what is wrong with this machine or its packages, and how to mend it."""

import argparse

from tools import doctor


def add_arguments(parser: argparse.ArgumentParser) -> None:
  del parser  # This verb has no arguments.


def run(arguments: argparse.Namespace) -> int:
  del arguments
  return doctor.main()
