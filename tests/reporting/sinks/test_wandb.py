"""Weights & Biases by its own library, offline and without a login."""

import json

import pytest
from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal import datastore

from reporting.sinks import followers, wandb
from tests import helpers
from tests.reporting.sinks import runs


@pytest.fixture
def run_dir(tmp_path, monkeypatch):
  monkeypatch.setenv('WANDB_MODE', 'offline')
  monkeypatch.delenv('WANDB_API_KEY', raising=False)
  # A login would be in this file.
  monkeypatch.setenv('NETRC', str(tmp_path / 'netrc'))
  runs.make(tmp_path / 'run')
  return tmp_path / 'run'


def _sessions(run_dir):
  """Yields the records of each session that was kept offline, in order."""
  for path in sorted(run_dir.glob('wandb/offline-run-*/*.wandb')):
    store = datastore.DataStore()
    store.open_for_scan(str(path))
    records = []
    while data := store.scan_data():
      record = wandb_internal_pb2.Record()
      record.ParseFromString(data)
      records.append(record)
    yield records


def _history(records):
  rows = []
  for record in records:
    if record.HasField('history'):
      row = {
        '/'.join(item.nested_key) or item.key: json.loads(item.value_json)
        for item in record.history.item
      }
      rows.append(row)
  return rows


def _send(run_dir):
  said = []
  with followers.following(['wandb'], run_dir, said.append):
    pass
  assert said == []


def test_offline_it_keeps_the_run_with_config_and_all_rows(run_dir):
  runs.write(run_dir, 200, 400)
  runs.write(run_dir, 200, process='actor_1')
  _send(run_dir)
  (records,) = _sessions(run_dir)
  (run,) = [record.run for record in records if record.HasField('run')]
  config = {item.key: item.value_json for item in run.config.update}
  assert config['program'] == '"distributed"'
  assert run.display_name == 'run'
  assert {
    (m.glob_name, m.step_metric)
    for m in (r.metric for r in records if r.HasField('metric'))
    if m.glob_name
  } == {
    ('actor_0/*', 'actor_0/actor/steps'),
    ('actor_1/*', 'actor_1/actor/steps'),
  }
  rows = _history(records)
  assert [row.get('actor_0/actor/episode_return') for row in rows] == [
    -100,
    -200,
    None,
  ]
  assert rows[2]['actor_1/actor/steps'] == 200
  assert [row['_timestamp'] for row in rows[:2]] == [
    row['actor_0/time'] for row in rows[:2]
  ]


def test_a_resumed_run_is_the_same_and_sends_no_row_twice(run_dir):
  runs.write(run_dir, 200, 400)
  _send(run_dir)
  runs.write(run_dir, 600)
  _send(run_dir)
  first, second = _sessions(run_dir)
  ids = {r.run.run_id for r in [*first, *second] if r.HasField('run')}
  assert len(ids) == 1
  rows = [*_history(first), *_history(second)]
  assert [row['actor_0/actor/steps'] for row in rows] == [200, 400, 600]
  assert [row['_step'] for row in rows] == [0, 1, 2]


def test_rows_that_a_kill_may_have_lost_come_again_as_the_same_steps(run_dir):
  runs.write(run_dir, 200)
  _send(run_dir)
  path = run_dir / 'wandb' / 'sent.json'
  row = {'time': 1.0, 'actor/steps': 400}
  state = json.loads(path.read_text())
  # A row is noted as sent just before it is handed over.
  path.write_text(json.dumps({**state, 'sent': {'actor_0': 2}, 'rows': [row]}))
  runs.write(run_dir, 400, 600)
  _send(run_dir)
  _, records = _sessions(run_dir)
  assert [
    (row['_step'], row['actor_0/actor/steps']) for row in _history(records)
  ] == [(1, 400), (2, 600)]


def test_without_a_login_it_says_so_and_what_to_do(run_dir, monkeypatch):
  monkeypatch.setenv('WANDB_MODE', 'online')
  said = []
  with followers.following(['wandb'], run_dir, said.append):
    runs.write(run_dir, 200)
    helpers.wait_until(lambda: said, 'a complaint')
  assert 'Use `wandb login` to log in' in said[0]
  assert said[1].startswith('wandb: 1 of 1 rows did not get there')
  assert wandb.sent(run_dir) == {}
