"""What all tests need: of the process that they run in, and of pytest."""

import signal

import pytest


def pytest_addoption(parser):
  parser.addoption(
    '--no-skips', action='store_true', help='A test that is skipped fails.'
  )


def pytest_collection_modifyitems(items):
  # Side by side with these all others run meanwhile.
  items.sort(key=lambda item: item.get_closest_marker('long') is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
  report = yield
  if report.skipped and item.config.getoption('no_skips'):
    *_, reason = report.longrepr
    report.outcome, report.longrepr = 'failed', f'{reason}, by --no-skips'
  return report


@pytest.fixture(autouse=True)
def ctrl_c():
  """Has Ctrl-C raise, here and in what a test starts.

  A shell that runs `make test &` has SIGINT ignored, and Launchpad's threads
  leave a handler of their own behind.
  """
  previous = signal.signal(signal.SIGINT, signal.default_int_handler)
  yield
  signal.signal(signal.SIGINT, previous or signal.SIG_DFL)
