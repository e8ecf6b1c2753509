"""Hooks of pytest and a fixture for all tests."""

import signal

import pytest


def pytest_addoption(parser):
  parser.addoption(
    '--no-skips', action='store_true', help='Count a skipped test as failed.'
  )


def pytest_collection_modifyitems(items):
  # The long tests come first: other processes run the short ones meanwhile.
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
  """Has SIGINT raise KeyboardInterrupt here and in processes a test starts.

  A shell that runs `make test &` starts it with SIGINT ignored. Launchpad's
  threads leave another handler behind.
  """
  previous = signal.signal(signal.SIGINT, signal.default_int_handler)
  yield
  signal.signal(signal.SIGINT, previous or signal.SIG_DFL)
