"""Tests of what the race makes of the sides' progress, without the peers."""

import math

import pytest
from absl import app

from benchmarks import single_machine
from benchmarks.peers import progress
from benchmarks.support import race, race_figure
from run_files import metric_names


def test_a_peers_progress_is_read_while_it_is_written(tmp_path):
  path = tmp_path / 'progress.csv'
  written = progress.Progress(str(path))
  written.write(100, 50, [7.0] * (progress.EPISODES - 1))
  written.write(200, 100, [])  # It comes too early after the row before.
  with open(path, 'a') as file:
    file.write('1796137068.3,300,15')  # This row is not complete yet.
  (point,) = race.points('ppo', 'SBX', str(tmp_path))
  assert (point.steps, point.updates) == (100, 50)
  assert math.isnan(point.episode_return)
  written.write(400, 200, [])


def test_the_return_is_the_mean_of_the_last_episodes(tmp_path):
  written = progress.Progress(str(tmp_path / 'progress.csv'))
  written.write(1, 1, [1000.0] + [8.0, 10.0] * (progress.EPISODES // 2))
  (point,) = race.points('ppo', 'SBX', str(tmp_path))
  assert point.episode_return == 9.0


def test_own_progress_is_read_from_the_run_directory(tmp_path):
  assert race.points('sac', race.OURS, str(tmp_path)) == []
  metrics = tmp_path / 'run' / 'metrics'
  metrics.mkdir(parents=True)
  time = metric_names.TIME
  (metrics / 'actor_0.csv').write_text(
    f'{time},actor/steps,actor/episode_return\n'
    + ''.join(f'{10 + i},{200 * i},-300\n' for i in range(1, 20))
    + '40,4000,-100\n'
  )
  (metrics / 'learner_0.csv').write_text(f'{time},learner/steps\n15,3\n')
  points = race.points('sac', race.OURS, str(tmp_path))
  assert points[-1][:3] == (40, 4000, 3 * 8)
  assert points[-1].episode_return == -290.0
  assert math.isnan(points[-2].episode_return)


def test_the_conclusions_are_of_the_medians():
  def row(side, steps_s, goal_s):
    return single_machine.Row('ppo', side, steps_s, 1.0, 1.0, goal_s)

  ours = [row(race.OURS, x, y) for x, y in [(900, 9), (300, 5), (600, 7)]]
  rows = [
    single_machine.medians(ours),
    row('SBX', 300.0, 14.0),
    row('RLlib', 1200.0, math.inf),
  ]
  assert [*single_machine.conclusions(rows)] == [
    'ppo: 2.00 times the steps per second of SBX; the return after 7 s, the '
    'peer after 14 s',
    'ppo: 0.50 times the steps per second of RLlib; the return after 7 s, the '
    'peer not in time',
  ]


def test_the_table_says_which_side_did_not_reach_the_return(tmp_path):
  rows = [
    single_machine.Row('sac', race.OURS, 486.12, 499.9, 3621.0, 22.6),
    single_machine.Row('sac', 'SBX', 518.0, 518.0, 2327.0, math.inf),
  ]
  titles, ours, peer = map(str.split, single_machine.table(rows))
  assert titles == [*single_machine.Row._fields]
  assert ours == ['sac', 'this', 'program', '486', '500', '3621', '23']
  assert peer == ['sac', 'SBX', '518', '518', '2327', 'not']
  single_machine.write_csv(rows, tmp_path / 'race.csv')
  assert (tmp_path / 'race.csv').read_text().splitlines()[1:] == [
    'sac,this program,486.1,499.9,3621,22.6',
    'sac,SBX,518,518,2327,inf',
  ]
  race_figure.draw(rows, tmp_path / 'race.png')
  assert (tmp_path / 'race.png').stat().st_size


def test_a_race_that_cannot_be_run_is_refused(tmp_path, monkeypatch):
  with pytest.raises(app.UsageError, match='--work=chess is none of sac, ppo'):
    single_machine.check(['chess'])
  monkeypatch.setattr(race, 'python', lambda side: tmp_path / side)
  with pytest.raises(app.UsageError, match='SBX is not installed: .*make peer'):
    single_machine.check(['sac'])
