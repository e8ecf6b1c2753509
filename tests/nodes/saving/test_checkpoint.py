"""Checkpoints are read back; damaged ones and other files are not used."""

import errno
import os
import pickle

import numpy as np
import pytest

from nodes.saving import checkpoint
from run_files import damage


@pytest.fixture
def config(tmp_path):
  return checkpoint.CheckpointingConfig(str(tmp_path), max_to_keep=2)


@pytest.fixture
def folder(tmp_path):
  return tmp_path / 'learner'


def _save(saver, *steps):
  for each in steps:
    saver.save({'w': np.full(3, each), 'steps': each}, {'version': each})


def _restored(config):
  saved = checkpoint.Checkpointer(config, 'learner').restore()
  assert saved.leaves["['steps']"] == saved.facts['version']
  return saved.facts['version']


def test_the_newest_state_comes_back(config):
  _save(checkpoint.Checkpointer(config, 'learner'), 1, 2)
  saved = checkpoint.Checkpointer(config, 'learner').restore()
  assert saved.facts == {'version': 2}
  state = saved.fit({'w': np.zeros(3, int), 'steps': 0})
  np.testing.assert_array_equal(state['w'], [2, 2, 2])


def test_restore_returns_none_if_nothing_was_saved(config, folder):
  assert checkpoint.Checkpointer(config, 'learner').restore() is None
  assert not folder.exists()


def test_processes_do_not_share(config):
  _save(checkpoint.Checkpointer(config, 'learner'), 1)
  assert checkpoint.Checkpointer(config, 'counter').restore() is None


def test_only_the_newest_are_kept(config, folder):
  _save(checkpoint.Checkpointer(config, 'learner'), 0, 1, 2, 3)
  assert len(list(folder.iterdir())) == 2
  assert _restored(config) == 3


class _Bomb:
  def __reduce__(self):
    return (pytest.fail, ('it ran',))


_DAMAGE = {
  'cut': lambda content: content[:-10],
  'flipped': lambda content: content[:-10] + bytes(10),
  'foreign': lambda content: b'not one of ours',
  'empty': lambda content: b'',
  'pickle': lambda content: pickle.dumps(_Bomb()),
  'earlier version': lambda content: (
    b'launchpad-rl checkpoint 1\n' + bytes(32) + pickle.dumps(_Bomb())
  ),
}


@pytest.mark.parametrize('how', _DAMAGE)
def test_a_damaged_checkpoint_gives_way_to_the_one_before(config, folder, how):
  _save(checkpoint.Checkpointer(config, 'learner'), 1, 2)
  newest = max(folder.iterdir())
  newest.write_bytes(_DAMAGE[how](newest.read_bytes()))
  assert _restored(config) == 1


def test_it_is_an_error_if_all_checkpoints_are_damaged(config, folder):
  _save(checkpoint.Checkpointer(config, 'learner'), 1, 2)
  for path in folder.iterdir():
    path.write_bytes(path.read_bytes()[:100])
  with pytest.raises(
    damage.DamagedError, match='00000002.*00000001.*remove them.*--run_dir'
  ):
    checkpoint.Checkpointer(config, 'learner').restore()
  assert len(list(folder.iterdir())) == 2


def test_other_files_in_the_folder_are_no_checkpoints(config, folder):
  saver = checkpoint.Checkpointer(config, 'learner')
  _save(saver, 1, 2)
  others = [
    *('best.checkpoint', '-1.checkpoint', '3.checkpoint', '٣.checkpoint'),
    *('00000009.checkpoint.part', '00000009', 'x00000009.checkpoint'),
  ]
  for name in others:
    (folder / name).write_bytes(b'mine')
  (folder / 'folder.checkpoint').mkdir()
  _save(saver, 3)
  assert _restored(config) == 3
  assert {p.name for p in folder.iterdir()} == {
    *(*others, 'folder.checkpoint'),
    *('00000002.checkpoint', '00000003.checkpoint'),
  }


def test_a_folder_in_place_of_a_checkpoint_is_passed_over(config, folder):
  _save(checkpoint.Checkpointer(config, 'learner'), 1)
  (folder / '00000007.checkpoint').mkdir()
  assert _restored(config) == 1
  _save(checkpoint.Checkpointer(config, 'learner'), 2)
  assert _restored(config) == 2


def test_what_a_kill_left_unfinished_is_removed_by_the_next_save(
  config, folder
):
  _save(checkpoint.Checkpointer(config, 'learner'), 1)
  unfinished = folder / '.unfinished-x'
  unfinished.write_bytes(b'launchpad')
  assert _restored(config) == 1
  assert unfinished.exists()  # A run that goes on may be writing it.
  _save(checkpoint.Checkpointer(config, 'learner'), 2)
  assert not unfinished.exists()


def test_a_full_disk_is_reported_once_and_tried_again(
  config, folder, monkeypatch, capsys
):
  saver = checkpoint.Checkpointer(config, 'learner')
  _save(saver, 1)

  def fsync(descriptor):
    raise OSError(errno.ENOSPC, 'No space left on device')

  with monkeypatch.context() as full:
    full.setattr(os, 'fsync', fsync)
    _save(saver, 2, 3)
    saver.close()
  line, last = capsys.readouterr().out.splitlines()
  assert str(folder) in line
  assert 'No space left' in line and 'tried again' in line
  assert 'is lost' in last and '1 from before' in last
  assert [p.name for p in folder.iterdir()] == ['00000001.checkpoint']
  _save(saver, 4)
  assert 'written again' in capsys.readouterr().out
  assert _restored(config) == 4


def test_a_file_in_place_of_the_folder_is_no_error(config, tmp_path, capsys):
  (tmp_path / 'learner').write_text('mine')
  saver = checkpoint.Checkpointer(config, 'learner')
  _save(saver, 1)
  assert 'cannot be written' in capsys.readouterr().out
  (tmp_path / 'learner').unlink()
  _save(saver, 2)
  assert _restored(config) == 2
