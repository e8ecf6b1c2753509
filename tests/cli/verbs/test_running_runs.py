"""The verbs `status`, `stop` and `scale`."""

import pytest

from backends import api, registry
from backends.cluster import links
from cli.verbs import scale
from cli.verbs import status as status_verb
from cli.verbs import stop as stop_verb
from run_files import run_dir as run_dir_lib
from run_files import status
from tests import helpers
from tests.run_files import statuses

# What the flags say when they name no backend.
_ANY = registry.Choice()


def test_stop_ends_a_run_in_order_and_waits_for_its_report(tmp_path):
  log_dir = tmp_path / 'logs'
  log_dir.mkdir()
  with helpers.launcher('reporting', log_dir) as launcher:
    for name in ('server', 'learner', 'actor'):
      launcher.wait_for_file(f'{name}.up')
    assert stop_verb.stop(tmp_path, _ANY) == 0
    assert (log_dir / 'server.down').exists()
    assert (log_dir / 'report').exists()
    code, _, _ = launcher.end()
  assert code == 143
  with pytest.raises(api.RefusedError, match='no run goes on'):
    stop_verb.stop(tmp_path, _ANY)


def _write_status_of_a_run_that_has_ended(run_dir):
  ended = statuses.launcher(
    state='ended', exit_code=0, process_start='long ago'
  )
  (run_dir / 'logs').mkdir()
  status.write(str(run_dir / 'logs'), ended, [])


@pytest.mark.parametrize('is_resumed', [False, True])
@pytest.mark.parametrize('on_kubernetes', [False, True])
def test_a_run_that_only_begins_is_said_to_begin(
  tmp_path, monkeypatch, capsys, is_resumed, on_kubernetes
):
  if is_resumed:
    _write_status_of_a_run_that_has_ended(tmp_path)
  if on_kubernetes:
    monkeypatch.setenv(links.LISTEN, '7700')
  else:
    run_dir_lib.lock(tmp_path)
  assert status_verb.show(tmp_path, _ANY) == 0
  assert 'starting' in capsys.readouterr().out
  with pytest.raises(api.RefusedError, match='only beginning'):
    stop_verb.stop(tmp_path, _ANY)
  with pytest.raises(api.RefusedError, match='only beginning'):
    scale.scale(tmp_path, 'actor:2', _ANY)


def test_a_run_that_writes_its_summary_has_begun(tmp_path, capsys):
  run_dir_lib.lock(tmp_path)
  (tmp_path / 'logs').mkdir()
  ended = statuses.launcher(state='ended', exit_code=0)
  status.write(str(tmp_path / 'logs'), ended, [])
  assert status_verb.show(tmp_path, _ANY) == 0
  assert 'ended with exit code 0' in capsys.readouterr().out
