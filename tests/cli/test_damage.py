"""Of a run directory that is damaged, or planted by others, nothing runs."""

import json
import pickle

import numpy as np
import pytest
from absl.testing import flagsaver

from cli import command as command_lib
from cli import training_flags  # noqa: F401  Defined before they are saved.
from nodes.saving import checkpoint, journal
from programs.data import recording
from run_files import damage, status
from tests.programs import samples
from tests.reporting import csv_files
from tests.run_files import statuses

_ESCAPE = '\033]0;owned\007\033[2J\u202e'


@pytest.fixture
def command(capsys):
  """Types a command line, in this process; returns code and output."""

  def run(*words):
    with flagsaver.flagsaver():
      parsed = command_lib.parse(['launch.py', *map(str, words)])
      code = command_lib.run(parsed)
    return code, *capsys.readouterr()

  return run


@pytest.fixture
def run_dir(tmp_path):
  """The directory of a run that has ended."""
  path = tmp_path / 'run'
  (path / 'logs').mkdir(parents=True)
  (path / 'config.json').write_text(json.dumps(vars(samples.SETTINGS)))
  status.write(
    str(path / 'logs'), statuses.launcher(state='ended', exit_code=0), []
  )
  csv_files.write(path, 'actor_0', ['time', 'actor/steps'], [[1.0, 10]])
  counts = journal.Journal(str(path / 'checkpoints' / 'counter.journal'))
  counts.write('report:actor-1', {'actor_steps': 10})
  saver = checkpoint.Checkpointer(
    checkpoint.CheckpointingConfig(str(path / 'checkpoints')), 'learner'
  )
  for steps in (1, 2):
    saver.save({'w': np.zeros(3), 'steps': steps}, {'weights_version': steps})
  return path


# Training with `--resume`; the others are verbs.
_RESUME = '--resume'
_STATUS, _REPORT = 'status', 'report'
_EXPORT, _EVALUATE, _STOP = 'export', 'evaluate', 'stop'
_STEPS = 'metrics/actor_0.csv'


def _words(what, run_dir):
  if what == _RESUME:
    return what, f'--run_dir={run_dir}'
  return what, run_dir


@pytest.mark.parametrize(
  'name, content, commands',
  [
    ('config.json', b'{"agent": ', (_RESUME, _REPORT, _EXPORT, _EVALUATE)),
    ('config.json', b'\xff\xfe', (_RESUME, _REPORT, _EXPORT)),
    ('config.json', b'[' * 100_000, (_RESUME, _EXPORT)),
    ('logs/status.json', b'\x80', (_RESUME, _STATUS, _STOP)),
    ('logs/status.json', b'[' * 100_000, (_RESUME, _STATUS, _STOP)),
    ('logs/status.json', b'{"tasks": 1}', (_RESUME, _STATUS, _STOP)),
    ('checkpoints/counter.journal', b'\xff\n', (_RESUME,)),
    ('checkpoints/counter.journal', b'["report:a", "b"]\n', (_RESUME,)),
    ('checkpoints/counter.journal', b'[[], 1]\n', (_RESUME,)),
    (_STEPS, b'time,actor/steps\n\xff\xfe,2\n', (_RESUME, _STATUS, _REPORT)),
    (_STEPS, b'time\n\0\n', (_RESUME, _STATUS, _REPORT)),
    ('slurm/job', b'--user=me', (_STATUS, _STOP)),
  ],
)
def test_a_damaged_file_is_one_sentence(
  command, run_dir, name, content, commands
):
  path = run_dir / name
  path.parent.mkdir(exist_ok=True)
  path.write_bytes(content)
  for what in commands:
    code, _, error = command(*_words(what, run_dir))
    assert code == 1, (what, error)
    assert name in error and len(error.splitlines()) == 1
  assert path.read_bytes() == content


def test_a_folder_in_place_of_a_file_is_one_sentence(command, run_dir):
  for name in ('config.json', 'logs/status.json', _STEPS):
    (run_dir / name).unlink()
    (run_dir / name).mkdir()
    code, _, error = command('--resume', f'--run_dir={run_dir}')
    assert code == 1
    assert name in error and len(error.splitlines()) == 1
    (run_dir / name).rmdir()
    (run_dir / name).write_text('')
    if name == 'config.json':
      (run_dir / name).write_text(json.dumps(vars(samples.SETTINGS)))
    elif name == 'logs/status.json':
      (run_dir / name).unlink()


def test_a_setting_of_another_type_is_one_sentence(command, run_dir):
  config = {**vars(samples.SETTINGS), 'num_actors': 'three'}
  (run_dir / 'config.json').write_text(json.dumps(config))
  for what in (_RESUME, _EXPORT, _EVALUATE):
    code, _, error = command(*_words(what, run_dir))
    assert code == 1
    assert "--num_actors cannot be 'three'" in error


class _Bomb:
  def __reduce__(self):
    return (pytest.fail, ('it ran',))


@pytest.mark.parametrize(
  'damaged',
  [
    lambda content: content[:100],
    lambda content: pickle.dumps(_Bomb()),
    lambda content: (
      b'launchpad-rl checkpoint 1\n' + bytes(32) + pickle.dumps(_Bomb())
    ),
  ],
)
def test_without_a_whole_checkpoint_nothing_is_resumed_or_exported(
  command, run_dir, damaged
):
  (run_dir / 'policy').mkdir()
  for path in (run_dir / 'checkpoints' / 'learner').iterdir():
    path.write_bytes(damaged(path.read_bytes()))
  for what in (_RESUME, _EXPORT):
    code, _, error = command(*_words(what, run_dir))
    assert code == 1
    for text in ('00000001.checkpoint', '00000002.checkpoint', 'remove them'):
      assert text in error
    assert 'Traceback' not in error
  assert not list((run_dir / 'policy').iterdir())


def test_no_text_of_a_run_directory_commands_a_terminal(command, run_dir):
  odd = run_dir.parent / f'odd{_ESCAPE}'
  run_dir.rename(odd)
  config = {**vars(samples.SETTINGS), 'agent': _ESCAPE, 'env': _ESCAPE}
  (odd / 'config.json').write_text(json.dumps(config))
  launcher = statuses.launcher(state='ended', exit_code=0, host=_ESCAPE)
  task = statuses.task(label=_ESCAPE, addresses=[_ESCAPE])
  status.write(str(odd / 'logs'), launcher, [task])
  csv_files.write(odd, f'x{_ESCAPE}_0', ['time', _ESCAPE], [[1.0, 10]])
  said = ''
  for what in (_STATUS, _REPORT, _EXPORT, _EVALUATE, _RESUME):
    _, out, error = command(*_words(what, odd))
    assert out or error
    said += out + error
  (odd / 'logs' / 'status.json').write_text(f'{{"tasks": [], {_ESCAPE}: 1')
  _, out, error = command('stop', odd)
  said += out + error + (odd / 'report.html').read_text()
  assert r'\x1b' in said
  assert not {'\033', '\007', '\u202e'} & set(said)


@pytest.mark.parametrize(
  'content', [b'', b'PK\3\4', pickle.dumps(_Bomb()), b'\x93NUMPY']
)
def test_a_file_that_is_no_recording_is_one_sentence(tmp_path, content):
  (tmp_path / 'episodes').mkdir()
  (tmp_path / 'episodes' / '1.npz').write_bytes(content)
  with pytest.raises(ValueError, match='1.npz is not a recorded episode'):
    recording.read_episodes(str(tmp_path), None, None)


def test_a_recording_of_objects_is_not_unpickled(tmp_path):
  (tmp_path / 'episodes').mkdir()
  array = np.array([_Bomb()], object)
  np.savez(tmp_path / 'episodes' / '1.npz', **{'reward/0': array})
  with pytest.raises(ValueError, match='1.npz is not a recorded episode'):
    recording.read_episodes(str(tmp_path), None, None)


def test_damage_is_not_taken_for_a_wrong_flag():
  assert not issubclass(damage.DamagedError, ValueError)
