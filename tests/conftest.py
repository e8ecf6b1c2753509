"""What all tests need of the process that they run in."""

import signal

import pytest


@pytest.fixture(autouse=True)
def ctrl_c():
  """Has Ctrl-C raise, here and in what a test starts.

  A shell that runs `make test &` has SIGINT ignored, and Launchpad's threads
  leave a handler of their own behind.
  """
  previous = signal.signal(signal.SIGINT, signal.default_int_handler)
  yield
  signal.signal(signal.SIGINT, previous or signal.SIG_DFL)
