"""The sinks that write files: what these hold, also after a kill."""

import json
import math

import pytest
from tensorboard.backend.event_processing import event_accumulator

from reporting.sinks import jsonl, tensorboard

_CONFIG = {'program': 'distributed'}
_ROWS = [
  {'time': 100.0 + step, 'actor/steps': step, 'actor/episode_return': -step / 2}
  for step in (200, 400, 600)
]


def _scalars(run_dir, process):
  path = str(run_dir / 'tensorboard' / process)
  reader = event_accumulator.EventAccumulator(path).Reload()
  return {
    tag: [(s.wall_time, s.step, s.value) for s in reader.Scalars(tag)]
    for tag in reader.Tags()['scalars']
  }


def _lines(run_dir):
  return [json.loads(line) for line in (run_dir / 'metrics.jsonl').open()]


def test_tensorboard_reads_each_scalar_with_step_and_time(tmp_path):
  sink = tensorboard.Sink(tmp_path, _CONFIG)
  sink.write('actor_0', _ROWS[:2])
  sink.write('actor_0', _ROWS[2:])
  sink.write('actor_1', _ROWS[:1])
  assert _scalars(tmp_path, 'actor_0') == {
    'actor/steps': [(300, 200, 200), (500, 400, 400), (700, 600, 600)],
    'actor/episode_return': [
      (300, 200, -100),
      (500, 400, -200),
      (700, 600, -300),
    ],
  }
  assert _scalars(tmp_path, 'actor_1')['actor/steps'] == [(300, 200, 200)]


@pytest.mark.parametrize(
  'process, program, step',
  [
    ('learner_0', 'distributed', 7),
    ('evaluator_0', 'distributed', 200),
    ('evaluator_0', 'offline', 7),
  ],
)
def test_steps_are_those_of_the_writers_role(tmp_path, process, program, step):
  sink = tensorboard.Sink(tmp_path, {'program': program})
  row = {'time': 1.0, 'actor/steps': 200, 'learner/steps': 7, 'note': 'text'}
  sink.write(process, [row])
  scalars = _scalars(tmp_path, process)
  assert scalars['learner/steps'] == [(1, step, 7)]
  assert 'note' not in scalars


def test_a_row_before_any_step_is_at_step_0_and_counts(tmp_path):
  sink = tensorboard.Sink(tmp_path, _CONFIG)
  sink.write('evaluator_0', [{'time': 1.0}, {'time': 2.0, 'x/y': math.nan}])
  ((_, step, value),) = _scalars(tmp_path, 'evaluator_0')['x/y']
  assert step == 0 and math.isnan(value)
  assert tensorboard.sent(tmp_path) == {'evaluator_0': 2}


def test_json_lines_name_the_process_that_wrote_them(tmp_path):
  sink = jsonl.Sink(tmp_path, _CONFIG)
  sink.write('variable_server_3', [{'time': 1.5, 'a/b': math.inf, 'c/d': 'x'}])
  assert _lines(tmp_path) == [
    {
      'label': 'variable_server',
      'index': 3,
      'time': 1.5,
      'a/b': 'inf',
      'c/d': 'x',
    }
  ]


@pytest.mark.parametrize(
  'sink, file',
  [
    (jsonl, 'metrics.jsonl'),
    (tensorboard, 'tensorboard/actor_0/events.out.tfevents.metrics'),
  ],
)
def test_wherever_a_kill_tears_a_file_only_the_lost_rows_come_again(
  tmp_path, sink, file
):
  path = tmp_path / file
  sink.Sink(tmp_path, _CONFIG).write('actor_0', _ROWS)
  whole = path.read_bytes()
  for size in range(len(whole)):
    path.write_bytes(whole[:size])
    again = sink.Sink(tmp_path, _CONFIG)
    lost = _ROWS[sink.sent(tmp_path)['actor_0'] :]
    assert lost
    again.write('actor_0', lost)
    # The first event is no row, but has the time of the first.
    assert path.read_bytes()[-50:] == whole[-50:]
    assert path.stat().st_size == len(whole)
  assert sink.sent(tmp_path) == {'actor_0': 3}
