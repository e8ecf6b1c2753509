"""The counts are exact, even if a report is repeated or a process restarts."""

import contextlib
import pathlib
from concurrent import futures

import portpicker
import pytest
from acme.utils import counting
from launchpad.nodes.courier import courier_utils

from nodes import counter as counter_lib
from nodes import counter_client
from nodes.saving import journal
from tests.run_files import disks


class _UnreliableCounter:
  """A counter that can be replaced, and whose answers can be lost.

  When an answer is lost, the report has already taken effect.
  """

  def __init__(self, counter):
    self.counter = counter
    self.loses_answers = False

  def report(self, source, totals):
    counts = self.counter.report(source, totals)
    if self.loses_answers:
      raise ConnectionError('answer lost')
    return counts


def test_counts_of_all_processes_add_up():
  parent = counter_lib.GlobalCounter()
  actors = [counter_client.Counter(parent, 'actor', 0.0) for _ in range(2)]
  learner = counter_client.Counter(parent, 'learner', 0.0)
  actors[0].increment(steps=3, episodes=1)
  actors[1].increment(steps=4, episodes=1)
  counts = learner.increment(steps=1)
  assert counts == {'actor_steps': 7, 'actor_episodes': 2, 'learner_steps': 1}


def test_a_report_whose_answer_was_lost_counts_once():
  parent = counter_lib.GlobalCounter()
  unreliable = _UnreliableCounter(parent)
  actor = counter_client.Counter(unreliable, 'actor', 0.0)
  unreliable.loses_answers = True
  with pytest.raises(ConnectionError):
    actor.increment(steps=5)
  unreliable.loses_answers = False
  assert actor.increment(steps=2)['actor_steps'] == 7
  assert parent.get_counts() == {'actor_steps': 7}


class _Served(counter_client.CounterClient):
  """A client that calls a counter in the same process."""

  def __init__(self, served):
    super().__init__('localhost:1')
    self._client = served
    served.address = 'this process'


def test_on_a_full_disk_an_actor_waits_and_gets_no_count_that_is_not_saved(
  tmp_path, monkeypatch, capsys
):
  path = str(tmp_path / 'counter.journal')
  served = counter_lib.GlobalCounter({}, journal.Journal(path))
  actor = counter_client.Counter(_Served(served), 'actor', 0.0)
  actor.increment(steps=1)
  waited = []
  with contextlib.ExitStack() as full:
    full.enter_context(disks.full())

    def wait(seconds):
      waited.append(seconds)
      assert journal.read(pathlib.Path(path)).popitem()[1] == {'actor_steps': 1}
      if len(waited) == 3:
        full.close()

    monkeypatch.setattr(counter_client.time, 'sleep', wait)
    assert actor.increment(steps=2) == {'actor_steps': 3}
  assert len(waited) == 3
  assert journal.Journal(path).values.popitem()[1] == {'actor_steps': 3}
  first, second = capsys.readouterr().out.splitlines()
  assert 'cannot be written now' in first and 'written again' in second


def test_a_disk_that_stays_full_is_named(tmp_path, monkeypatch):
  path = str(tmp_path / 'counter.journal')
  client = _Served(counter_lib.GlobalCounter({}, journal.Journal(path)))
  client.full_seconds = 0.0
  monkeypatch.setattr(counter_client.time, 'sleep', lambda seconds: None)
  with (
    disks.full(),
    pytest.raises(ConnectionError, match='could not save .begin. on its disk'),
  ):
    client.begin('actor/0')
  assert client.begin('actor/0') == 0


def test_a_restarted_actor_adds_to_what_it_had_counted():
  parent = counter_lib.GlobalCounter()
  counter_client.Counter(parent, 'actor', 0.0).increment(steps=5)
  restarted = counter_client.Counter(parent, 'actor', 0.0)
  assert restarted.increment(steps=1)['actor_steps'] == 6


def test_a_restarted_counter_gets_the_totals_again():
  restarting = _UnreliableCounter(counter_lib.GlobalCounter())
  actor = counter_client.Counter(restarting, 'actor', 0.0)
  actor.increment(steps=5)
  restarting.counter = counter_lib.GlobalCounter()
  assert actor.increment(steps=1)['actor_steps'] == 6


def test_a_process_sees_its_own_counts_before_they_are_reported():
  parent = counter_lib.GlobalCounter()
  learner = counter_client.Counter(parent, 'learner', time_delta=1000.0)
  learner.increment(steps=1)
  assert learner.increment(steps=1)['learner_steps'] == 2
  assert parent.get_counts() == {'learner_steps': 1}
  learner.sync()
  assert parent.get_counts() == {'learner_steps': 2}


def test_a_killed_counter_keeps_every_count(tmp_path):
  path = str(tmp_path / 'counter.journal')
  before = counter_lib.GlobalCounter(journal=journal.Journal(path))
  counter_client.Counter(before, 'actor', 0.0).increment(steps=5)
  before.begin('actor/0')
  # Nothing is closed, as if the process was killed.
  after = counter_lib.GlobalCounter(journal=journal.Journal(path))
  assert after.get_counts() == {'actor_steps': 5}
  assert after.begin('actor/0') == 1


@pytest.fixture
def serve():
  servers = []

  def start(counter, port):
    server = courier_utils.make_courier_server(counter, port=port)
    server.Start()
    servers.append(server)
    return server

  yield start
  for server in servers:
    server.Stop()
    server.Join()


def test_a_client_waits_for_a_counter_that_is_away(serve):
  port = portpicker.pick_unused_port()
  client = counter_client.CounterClient(f'localhost:{port}')
  actor = counter_client.Counter(client, 'actor', 0.0)
  with futures.ThreadPoolExecutor() as pool:
    counts = pool.submit(actor.increment, steps=5)
    serve(counter_lib.GlobalCounter(), port)
    assert counts.result(timeout=60) == {'actor_steps': 5}


def test_a_counter_that_stays_away_is_an_error_that_names_it():
  port = portpicker.pick_unused_port()
  client = counter_client.CounterClient(f'localhost:{port}', away_seconds=0.1)
  with pytest.raises(ConnectionError, match=f'localhost:{port}.*get_counts'):
    client.get_counts()


def test_acmes_own_counter_counts_through_a_client(serve):
  port = portpicker.pick_unused_port()
  serve(counter_lib.GlobalCounter(), port)
  client = counter_client.CounterClient(f'localhost:{port}')
  child = counting.Counter(client, 'evaluator', time_delta=-1.0)
  child.increment(steps=2)
  child.increment(steps=3)
  assert client.get_counts() == {'evaluator_steps': 5}
