"""Commands about runs that are there."""

import pytest

from programs import commands, settings
from tests.backends import helpers


def test_stop_ends_a_run_in_order_and_waits_for_its_report(tmp_path):
  log_dir = tmp_path / 'logs'
  log_dir.mkdir()
  with helpers.launcher('reporting', log_dir) as launcher:
    for name in ('server', 'learner', 'actor'):
      launcher.wait_for_file(f'{name}.up')
    assert commands.stop(str(tmp_path)) == 0
    assert (log_dir / 'server.down').exists()
    assert (log_dir / 'report').exists()
    code, _, _ = launcher.end()
  assert code == 143
  with pytest.raises(settings.WrongUsage, match='no run goes on'):
    commands.stop(str(tmp_path))
