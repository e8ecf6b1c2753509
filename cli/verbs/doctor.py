"""Says what is wrong with this machine or its packages, and what mends it."""

import argparse

from tools import doctor


def add_arguments(parser: argparse.ArgumentParser) -> None:
  del parser  # It takes none.


def run(arguments: argparse.Namespace) -> int:
  del arguments
  return doctor.main()
