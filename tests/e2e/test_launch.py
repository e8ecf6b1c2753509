"""Runs `python launch.py` as a user types it."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

from policies import policy
from run_files import metric_names
from tests.e2e import runs
from tests.view import terminals


@pytest.fixture(scope='module')
def run(tmp_path_factory):
  run = runs.Run(tmp_path_factory.mktemp('launch') / 'run')
  flags = ('--num_actors=2', '--num_steps=4000', '--profile')
  with run.launch(*flags, '--evaluations=200steps*2,2s'):
    run.end()
  return run


def test_a_run_ends_well_and_leaves_no_process(run):
  assert run.process.returncode == 0, run.output
  assert run.left_over() == []


def test_a_run_makes_its_steps_and_its_rows_have_each(run):
  counted = run.count('actor_steps')
  assert counted >= 4000
  logged = [run.column(f'actor_{i}', 'actor/steps')[-1] for i in range(2)]
  assert max(logged) == counted
  # An episode that was cut off by the end of the run has no row.
  lengths = [run.column(f'actor_{i}', 'actor/episode_length') for i in (0, 1)]
  assert counted - 2 * 200 < sum(map(sum, lengths)) <= counted


def test_actors_act_on_rising_versions(run):
  for actor in range(2):
    versions = run.column(f'actor_{actor}', 'weights/version')
    assert versions == sorted(versions)
    assert versions[-1] > versions[0] >= 1


def test_an_evaluation_is_of_one_version_and_when_it_is_due(run):
  versions = run.column('evaluator_0', 'weights/version')
  assert versions[::2] == versions[1::2]
  assert versions[::2] == sorted(set(versions))
  # The last evaluation is of the final weights, whenever they came.
  rows = run.rows('evaluator_0')[2:-2:2]
  multiples = [float(row['learner/steps']) // 200 for row in rows]
  assert multiples == sorted(set(multiples))
  assert len(multiples) >= 3


def test_the_last_evaluation_is_of_the_final_weights(run):
  last = run.column('evaluator_0', 'weights/version')[-1]
  assert run.column('evaluator_1', 'weights/version')[-1] == last
  assert last >= run.column('learner_0', 'weights/version')[-1]


def test_a_run_leaves_its_files(run):
  assert (run.run_dir / 'config.json').exists()
  assert (run.run_dir / 'learning_curve.png').stat().st_size > 1000
  assert run.column('learner_0', 'learner/steps')[-1] > 100
  assert run.rows('evaluator_0')
  assert str(run.run_dir) in run.output


def test_a_profile_tells_where_the_time_went(run):
  tree = {
    path.stem: json.loads(path.read_text())
    for path in (run.run_dir / 'profile').glob('*.json')
  }
  acts = {'', 'environment', 'policy', 'weights'}
  assert acts | {'insert'} == {*tree['actor_0']}
  assert acts == {*tree['evaluator_0']}
  assert {'', 'step', 'step/sample wait', 'publish'} <= {*tree['learner_0']}
  steps = tree['learner_0']['step']['calls']
  # One more step was waiting when the run ended.
  assert run.count('learner_steps') <= steps <= run.count('learner_steps') + 1
  assert 'gradient step' in run.output
  assert [*run.run_dir.glob('profile/plugins/profile/*/*.xplane.pb')]


def test_tensorboard_shows_each_metric_under_its_documented_name(run):
  command = [sys.executable, '-m', 'tensorboard.main', '--host=127.0.0.1']
  with subprocess.Popen(
    [*command, '--port=0', f'--logdir={run.run_dir / "tensorboard"}'],
    stderr=subprocess.PIPE,
    text=True,
  ) as process:
    try:
      output = ''
      while not (found := re.search(r' at (http://\S+/)', output)):
        line = process.stderr.readline()
        assert line, output
        output += line
      shown = _shown(f'{found[1]}data/plugin/scalars/tags')
    finally:
      process.terminate()
  written = {
    path.stem: set(run.rows(path.stem)[0]) - {metric_names.TIME}
    for path in (run.run_dir / 'metrics').glob('*.csv')
  }
  assert {process: set(tags) for process, tags in shown.items()} == written
  documented = re.findall(
    r'^\| (\w+/\w+) +\|', metric_names.__doc__, re.MULTILINE
  )
  assert len(documented) == len(set(documented))
  for name in set.union(*written.values()):
    # Each agent chooses the names of its losses, so they are not documented.
    assert name in documented or name.startswith('learner/')


def _shown(url):
  opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
  for _ in range(100):
    # TensorBoard serves before it has read everything.
    tags = json.load(opener.open(url, timeout=60))
    if len(tags) == 5 and all(tags.values()):
      return tags
    time.sleep(0.3)
  raise TimeoutError(f'TensorBoard shows no more than {tags}')


def _export(run_dir):
  return subprocess.run(
    [sys.executable, 'launch.py', 'export', run_dir],
    cwd=runs.ROOT,
    capture_output=True,
    text=True,
    timeout=120,
  )


def test_a_run_leaves_its_policy_and_it_can_be_exported_again(run, tmp_path):
  observation = np.array([0.6, 0.8, -1.0], np.float32)
  left = policy.load(run.run_dir / 'policy')(observation)
  shutil.copytree(run.run_dir, tmp_path / 'run')
  shutil.rmtree(tmp_path / 'run' / 'policy')
  result = _export(tmp_path / 'run')
  assert result.returncode == 0, result.stderr
  again = policy.load(tmp_path / 'run' / 'policy')(observation)
  np.testing.assert_array_equal(left, again)


def test_an_export_without_a_checkpoint_says_so(run, tmp_path):
  shutil.copy(run.run_dir / 'config.json', tmp_path)
  result = _export(tmp_path)
  assert result.returncode == 1
  assert 'no checkpoint' in result.stderr
  assert f'python launch.py export {tmp_path}' in result.stderr
  assert not (tmp_path / 'policy').exists()


def test_an_export_of_no_run_is_refused(tmp_path):
  result = _export(tmp_path)
  assert result.returncode == 2
  assert result.stderr == f'launch.py: {tmp_path} holds no run\n'


def test_a_finished_run_is_played(run):
  result = subprocess.run(
    [
      *(sys.executable, 'launch.py', 'evaluate', run.run_dir),
      '--episodes=2',
    ],
    cwd=runs.ROOT,
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert result.returncode == 0, result.stderr
  *episodes, mean = result.stdout.splitlines()
  assert [line.split()[:2] for line in episodes] == [
    ['episode', '1'],
    ['episode', '2'],
  ]
  returns = [float(line.split()[3].replace(',', '')) for line in episodes]
  # The returns and the mean are rounded separately.
  mean_return = float(mean.split()[-1].replace(',', ''))
  assert mean_return == pytest.approx(sum(returns) / 2, abs=0.11)


def test_without_a_terminal_there_are_plain_lines(run):
  assert '\033' not in run.output
  lines = run.output.splitlines()
  assert lines[0].startswith('run directory')
  for name in ('actor/0', 'actor/1', 'learner/0', 'evaluator/0'):
    assert any(re.match(rf'\[{name}\] +steps ', line) for line in lines)


@pytest.fixture(scope='module')
def quiet(tmp_path_factory):
  """Returns a run with `--quiet` on a terminal, and what it printed."""
  run = runs.Run(tmp_path_factory.mktemp('quiet') / 'run')
  exit_code, output = terminals.run(
    *('launch.py', '--quiet', f'--run_dir={run.run_dir}'),
    *('--num_actors=1', '--num_steps=200'),
  )
  assert exit_code == 0, output
  return run, output


def test_a_quiet_run_says_what_came_of_it(quiet):
  _, output = quiet
  assert not terminals.CURSOR_CODE.search(output)
  assert 'steps/s' not in output
  assert 'lp.stop()' not in output
  first, *_, last = output.splitlines()
  assert first.startswith('run directory')
  assert re.search(r'^evaluation +return ', output, re.MULTILINE)
  assert last.startswith('policy')


def test_a_seed_gives_the_same_first_episode(run, quiet):
  again, _ = quiet

  def first_return(run, actor):
    return run.column(f'actor_{actor}', 'actor/episode_return')[0]

  assert first_return(again, 0) == first_return(run, 0)
  assert first_return(run, 0) != first_return(run, 1)


def test_ctrl_c_ends_a_run_with_its_loggers_closed(tmp_path):
  run = runs.Run(tmp_path / 'run')
  with run.launch() as process:
    run.wait_to_learn()
    process.send_signal(signal.SIGINT)
    assert run.end(timeout=60) == 130, run.output
  assert 'killing' not in run.output
  assert run.left_over() == []
  assert list((run.run_dir / 'checkpoints' / 'learner').iterdir())
  # The logger holds a row back, and writes it when it is closed.
  assert run.rows('learner_0')[-1]['learner/steps']


def test_a_pairing_that_is_refused_leaves_nothing(tmp_path):
  result = subprocess.run(
    [
      *(sys.executable, 'launch.py', '--agent=dqn', '--env=gym:Pendulum-v1'),
      f'--run_dir={tmp_path / "run"}',
    ],
    cwd=runs.ROOT,
    capture_output=True,
    text=True,
    timeout=100,
  )
  assert result.returncode == 2, result.stderr
  assert 'dqn takes discrete actions' in result.stderr
  assert 'Traceback' not in result.stderr
  assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize(
  'flag, expected',
  [
    ('--agent=bc', ['bc', '--program=offline']),
    ('--agent=ail', ['ail', '--demonstrations', '--record']),
    ('--program=offline', ['sac', '--demonstrations']),
    ('--demonstrations=runs/x', ['sac', 'does not imitate']),
    ('--video=out.mp4', ['--video', 'launch.py evaluate']),
    ('--metrics=excel', ['--metrics', 'excel', 'jsonl']),
    ('--evaluations=5', ['--evaluations', '1000steps*5']),
    ('--num_actors=0', ['num_actors']),
    ('--num_steps=-5', ['num_steps']),
    ('--agent=dreamer', ['agent', 'sac']),
    ('--config=learnin_rate=1', ['--config', 'learning_rate']),
    ('--env=gym:NoSuch-v0', ['gym:NoSuch-v0']),
    ('--env=Pendulum-v1', ['gym:']),
    ('--run_dir=/proc/run', ['run_dir', '/proc/run']),
    ('--nosuchflag=1', ['nosuchflag']),
    ('--resources=learner:cores=1', ['--resources', 'learner', "'cpu'"]),
    ('--dry_run', ['--dry_run', '--backend=slurm']),
  ],
)
def test_a_wrong_value_is_one_sentence(flag, expected):
  result = subprocess.run(
    [sys.executable, 'launch.py', flag],
    cwd=runs.ROOT,
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert result.returncode == 2, result.stderr
  assert result.stdout == ''
  assert len(result.stderr.strip().splitlines()) == 1, result.stderr
  for text in expected:
    assert text in result.stderr
