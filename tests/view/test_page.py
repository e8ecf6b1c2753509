"""A frame as lines: what they say, and that they fit."""

import dataclasses

import pytest

from reverb_wire import table_info
from view import frame, page

_TABLE = table_info.TableInfo('priority_table', 5200, 1_000_000, 5200, 520_000)


def _actors(count, **fields):
  return [
    frame.Task('actor', i, **{'steps_per_second': 10.0, **fields})
    for i in range(count)
  ]


def _frame(num_actors=2, **fields):
  tasks = [
    frame.Task('replay', 0),
    frame.Task('variable_server', 0),
    frame.Task('counter', 0),
    frame.Task('learner', 0, steps_per_second=120.0, version=76),
    *_actors(num_actors, episode_return=-1061.1, version=75, lag=1),
    frame.Task('evaluator', 0, episode_return=-130.0, version=76, lag=0),
  ]
  return frame.Frame(
    **{
      'goal': frame.Goal('sac on gym:Pendulum-v1', num_steps=8000),
      'phase': 'running',
      'elapsed': 83.0,
      'steps': 5200,
      'rate': 140.0,
      'tasks': tasks,
      'tables': [_TABLE],
      'learner_time': frame.LearnerTime(sampling=0.35, publishing=0.03),
      'returns': [-1344.0, -900.0, -130.0],
      **fields,
    }
  )


def _render(run, width=79, height=23):
  return [line.plain for line in page.render(run, width, height)]


def _line(lines, begin):
  (line,) = [line for line in lines if line.startswith(begin)]
  return line


def test_it_shows_a_run():
  lines = _render(_frame())
  assert lines[0].startswith('sac on gym:Pendulum-v1')
  assert lines[0].endswith('running     1:23')
  assert '5,200 of 8,000   65%     140/s    20 s left' in lines[1]
  assert _line(lines, 'actor/1').split() == [
    *('actor/1', 'running', '10', '-1,061.1', 'v75', '1', '0')
  ]
  assert _line(lines, 'learner/0').split()[2:] == ['120', 'v76', '0']
  assert '5,200 of 1,000,000 items' in _line(lines, 'replay  ')
  assert '100.0 samples/insert' in _line(lines, 'replay  ')
  time = _line(lines, 'learner time')
  assert time.split()[2:4] == ['62%', 'step']
  assert '35% waiting for samples' in time and '3% publishing' in time
  assert _line(lines, 'return').split() == [
    *('return', 'last', '-130.0', 'best', '-130.0', '▁▄█')
  ]


@pytest.mark.parametrize(
  'returns, expected',
  [
    ([float('nan'), -5.0, -9.0], ['-9.0', 'best', '-5.0', '█▁']),
    ([-9.0, float('inf'), -5.0], ['-5.0', 'best', '-5.0', '▁█']),
    ([float('nan')], ['nan', 'best', '-']),
  ],
)
def test_only_finite_returns_are_best_or_drawn(returns, expected):
  line = _line(_render(_frame(returns=returns)), 'return')
  assert line.split()[2:] == expected


@pytest.mark.parametrize('num_actors', [1, 2, 8, 64])
@pytest.mark.parametrize('width, height', [(79, 23), (199, 49), (59, 13)])
def test_it_fits(num_actors, width, height):
  lines = _render(_frame(num_actors, returns=list(range(1000))), width, height)
  assert len(lines) <= height
  assert max(map(len, lines)) <= width
  assert lines[-1].startswith('return')


def test_columns_are_aligned():
  run = _frame()
  wide = [dataclasses.replace(t, steps_per_second=1e4) for t in run.tasks]
  few = dataclasses.replace(run, tasks=wide)
  for lines in (_render(run), _render(few)):
    header = _line(lines, 'task')
    end = header.index('restarts') + len('restarts')
    assert {len(_line(lines, t.name)) for t in run.tasks} == {end}


def test_many_actors_are_one_line_and_a_line_for_each_that_misbehaves():
  actors = _actors(64, version=10)
  actors[3] = dataclasses.replace(actors[3], state='backoff', restarts=2)
  actors[40] = dataclasses.replace(actors[40], restarts=1, version=12)
  lines = _render(_frame(tasks=[*actors, frame.Task('learner', 0)]))
  assert _line(lines, 'actor x 64').split() == [
    *('actor', 'x', '64', '63', 'of', '64', '640', 'v10-12', '3')
  ]
  named = [line.split()[0] for line in lines if line.startswith('actor/')]
  assert named == ['actor/3', 'actor/40']


def test_of_many_that_misbehave_a_few_are_named():
  tasks = _actors(64, state='backoff', restarts=4)
  lines = _render(_frame(tasks=tasks))
  assert len([line for line in lines if line.startswith('actor/')]) == 3
  assert 'and 61 more' in '\n'.join(lines)


def test_a_run_that_only_begins():
  run = frame.Frame(frame.Goal('sac on x', 8000), 'starting', 0.4, steps=0)
  lines = _render(run)
  assert 'starting' in lines[0]
  assert 'left' not in lines[1]
  assert 'The program is being made' in '\n'.join(lines)


def test_states_and_restarts_stand_out():
  task = frame.Task('actor', 0, state='backoff', restarts=3)
  lines = page.render(_frame(tasks=[task]), 79, 23)
  (line,) = [line for line in lines if line.plain.startswith('actor/0')]
  assert line.plain.split() == ['actor/0', 'backoff', '3']
  assert any('red' in str(span.style) for span in line.spans)


def test_numbers_are_not_coloured_like_the_bar_beside_them():
  progress = page.render(_frame(), 79, 23)[1]
  assert progress.style == ''
  (bar,) = [span for span in progress.spans if span.style == 'green']
  assert set(progress.plain[bar.start : bar.end]) == {'━'}


def test_a_run_that_failed_says_so():
  lines = page.render(_frame(phase='ended', exit_code=1), 79, 23)
  assert lines[0].plain.endswith('ended with exit code 1 after 1:23')
  assert 'left' not in lines[1].plain


def test_without_evaluators_the_return_is_the_actors():
  assert _line(_render(_frame(evaluated=False)), 'actor return')


@pytest.mark.parametrize('has_actors', [True, False])
def test_it_says_whose_steps_end_the_run(has_actors):
  goal = frame.Goal('sac on x', 8000, has_actors)
  expected = 'actor steps' if has_actors else 'learner steps'
  assert _render(_frame(goal=goal))[1].startswith(expected)
