"""Which verb a command line names, and what is said of a wrong one."""

import os
import subprocess
import sys

import pytest
from absl import flags
from absl.testing import flagsaver

from cli import command, training_flags
from tests.e2e import runs


def _type(*words):
  """Types a command line in this process; returns the exit code."""
  with flagsaver.flagsaver():
    try:
      return command.run(command.parse(['launch.py', *words]))
    except SystemExit as e:
      return e.code or 0


@pytest.mark.parametrize(
  'words, expected',
  [
    (['statsu', 'runs/x'], "the nearest is 'status'"),
    (['send_metrics', 'runs/x'], "the nearest is 'send-metrics'"),
    (['fly'], 'the verbs are train, status, stop'),
    (['tests'], '`launch.py status tests`'),
    (['status'], 'required: RUN_DIR'),
    (['scale', 'runs/x'], 'required: ROLE:COUNT'),
    (['stop', 'runs/x', 'runs/y'], 'unrecognized arguments: runs/y'),
    (['list', 'sac'], 'unrecognized arguments: sac'),
    (['evaluate', 'runs/x', '--episodes=none'], "'none' is not a number"),
    (['evaluate', 'runs/x', '--episodes=0'], "'0' is not a number"),
    (['status', 'runs/x', '--num_actors=2'], '--num_actors=2'),
    (['status', 'runs/x', '--kube=x'], '--kube=x'),
    (['--num_actors=1', 'status', 'runs/x'], 'type a verb before'),
    (['--num_actors=1', 'more'], "'more' is not a flag"),
    (['train', 'more'], "'more' is not a flag"),
    (['--num_actor=1'], 'num_actors'),
    (['scale', 'runs/x', 'learner:2'], 'only actors'),
    (['send-metrics', 'runs/x', '--metrics='], 'with --metrics'),
    (['send-metrics', 'runs/x', '--metrics=excel'], "'excel'"),
  ],
)
def test_a_wrong_command_line_is_one_sentence(words, expected, capsys):
  assert _type(*words) == 2
  out, error = capsys.readouterr()
  assert out == ''
  assert error.startswith('launch.py: ') and error.count('\n') == 1
  assert expected in error


@pytest.mark.parametrize(
  'flag, verb',
  [
    ('--status', 'status'),
    ('--stop', 'stop'),
    ('--scale=actor:8', 'scale'),
    ('--report', 'report'),
    ('--report_path=x.html', 'report'),
    ('--export', 'export'),
    ('--evaluate', 'evaluate'),
    ('--episodes=3', 'evaluate'),
    ('--video=x.mp4', 'evaluate'),
    ('--list', 'list'),
    ('--send_metrics', 'send-metrics'),
  ],
)
def test_a_flag_that_is_a_verbs_tells_the_verb(flag, verb, capsys):
  assert _type(flag, '--run_dir=runs/x') == 2
  error = capsys.readouterr().err
  assert f'`python launch.py {verb}`' in error
  assert error.count('\n') == 1


def test_a_run_directory_may_have_a_verbs_name(capsys, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  assert _type('stop', 'stop') == 2
  assert f'no run goes on in {tmp_path}/stop' in capsys.readouterr().err


@pytest.fixture
def terminal(monkeypatch):
  """A terminal of 80 columns."""
  monkeypatch.setenv('COLUMNS', '80')


@pytest.mark.parametrize('words', [['--help'], ['-h'], ['--seed=1', '--help']])
def test_help_names_the_verbs_and_the_twelve_flags(words, capsys, terminal):
  assert _type(*words) == 0
  shown = capsys.readouterr().out
  assert max(map(len, shown.splitlines())) <= 80
  for verb in command.VERBS:
    assert f'\n  {verb} ' in shown
  assert len(training_flags.MOST_USED) == 12
  for flag in training_flags.MOST_USED:
    assert f'\n  --{flag.name} ' in shown


@pytest.mark.parametrize('verb', command.VERBS)
def test_each_verb_has_help(verb, capsys, terminal):
  assert _type(verb, '--help') == 0
  shown = capsys.readouterr().out
  assert shown.startswith(f'usage: launch.py {verb}')
  assert max(map(len, shown.splitlines())) <= 80


def test_the_help_of_training_has_each_of_its_flags_once(capsys):
  grouped = [f.name for group in training_flags.GROUPS.values() for f in group]
  holders = [*vars(training_flags).values(), *training_flags.OF_BACKENDS]
  ours = [f.name for f in holders if isinstance(f, flags.FlagHolder)]
  assert sorted(grouped) == sorted(ours)
  assert _type('train', '--help') == 0
  shown = capsys.readouterr().out
  for name in grouped:
    assert shown.count(f'\n  --{name} ') == 1


def test_training_may_be_typed_as_a_verb(capsys):
  for words in ([], ['train']):
    assert _type(*words, '--env=gym:NoSuch-v0') == 2
    assert 'gym:NoSuch-v0' in capsys.readouterr().err


@pytest.mark.parametrize('words', [['--help'], ['status', 'x'], ['list']])
def test_a_verb_imports_nothing_heavy_that_it_does_not_need(words, tmp_path):
  for name in ('jax', 'tensorflow', 'acme', 'launchpad', 'reverb'):
    (tmp_path / f'{name}.py').write_text('raise SystemExit("imported")\n')
  done = subprocess.run(
    [sys.executable, 'launch.py', *words],
    cwd=runs.ROOT,
    env={**os.environ, 'PYTHONPATH': str(tmp_path)},
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert 'imported' not in done.stderr
  assert done.returncode == (2 if words[0] == 'status' else 0)


def test_the_doctor_runs_where_packages_are_missing():
  # Without `site`, Python does not find the packages of its environment.
  done = subprocess.run(
    [sys.executable, '-S', 'launch.py', 'doctor'],
    cwd=runs.ROOT,
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert done.returncode == 1
  assert 'WRONG  jax' in done.stdout
