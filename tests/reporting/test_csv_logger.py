"""A CSV file of metrics, whatever happens to its process and its disk."""

import csv

import compat  # noqa: F401

import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

from reporting import csv_logger
from tests.run_files import disks


def _read(path) -> list[dict[str, str]]:
  with open(path, newline='') as f:
    return list(csv.DictReader(f))


class TestCSVLogger:
  def test_a_row_is_in_the_file_before_close(self, tmp_path):
    path = tmp_path / 'deep' / 'down' / 'actor_0.csv'
    logger = csv_logger.CSVLogger(str(path))
    logger.write({'a': 1, 'b': 2.5})
    (row,) = _read(path)
    assert (row['a'], row['b']) == ('1', '2.5')
    assert float(row['time']) > 1e9

  def test_resume_appends(self, tmp_path):
    path = tmp_path / 'a.csv'
    for value in (1, 2):
      logger = csv_logger.CSVLogger(str(path))
      logger.write({'a': value})
      logger.close()
    assert [row['a'] for row in _read(path)] == ['1', '2']

  def test_rows_wait_for_room_on_the_disk(self, tmp_path, capsys):
    path = tmp_path / 'a.csv'
    logger = csv_logger.CSVLogger(str(path))
    logger.write({'a': 1})
    with disks.full(path.stat().st_size + 5):
      logger.write({'a': 2})
      logger.write({'a': 3, 'b': 4})
    assert [row['a'] for row in _read(path)] == ['1']
    logger.write({'a': 5})
    logger.close()
    assert [(row['a'], row['b']) for row in _read(path)] == [
      *[('1', ''), ('2', ''), ('3', '4'), ('5', '')],
    ]
    first, second = capsys.readouterr().out.splitlines()
    assert 'cannot be written now' in first and 'written again' in second

  def test_a_folder_in_place_of_the_file_ends_nothing(self, tmp_path, capsys):
    path = tmp_path / 'a.csv'
    path.mkdir()
    logger = csv_logger.CSVLogger(str(path))
    logger.write({'a': 1})
    logger.close()
    assert '1 rows of' in capsys.readouterr().out
    path.rmdir()
    logger.write({'a': 2})
    assert [row['a'] for row in _read(path)] == ['1', '2']

  def test_a_new_field_extends_the_header(self, tmp_path):
    path = tmp_path / 'a.csv'
    logger = csv_logger.CSVLogger(str(path))
    logger.write({'a': 1})
    logger.write({'b': 2, 'a': 3})
    logger.write({'a': 4})
    assert [(r['a'], r['b']) for r in _read(path)] == [
      ('1', ''),
      ('3', '2'),
      ('4', ''),
    ]
    assert [p.name for p in tmp_path.iterdir()] == ['a.csv']

  @pytest.mark.parametrize('torn', ['17', '17.5,2,', 'time'])
  def test_resume_cuts_off_a_torn_line(self, tmp_path, torn):
    path = tmp_path / 'a.csv'
    before = '' if torn == 'time' else 'time,a,b\n16.5,1,1\n'
    path.write_text(before + torn)
    csv_logger.CSVLogger(str(path)).write({'a': 3, 'b': 4})
    expected = [('3', '4')] if torn == 'time' else [('1', '1'), ('3', '4')]
    assert [(row['a'], row['b']) for row in _read(path)] == expected

  def test_close_twice_and_a_late_row(self, tmp_path):
    path = tmp_path / 'a.csv'
    logger = csv_logger.CSVLogger(str(path))
    logger.close()
    logger.close()
    logger.write({'a': 1})
    assert len(_read(path)) == 1

  def test_text_with_commas_stays_in_its_field(self, tmp_path):
    path = tmp_path / 'a.csv'
    csv_logger.CSVLogger(str(path)).write({'a': 'x,"y"', 'b': None})
    assert (_read(path)[0]['a'], _read(path)[0]['b']) == ('x,"y"', '')

  @pytest.mark.parametrize(
    'value, expected',
    [
      (np.float32(0.5), '0.5'),
      (np.int64(3), '3'),
      (np.array([1.5]), '1.5'),
      (jnp.float32(0.5), '0.5'),
      (jnp.bfloat16(0.5), '0.5'),
      (jnp.int32(7), '7'),
      (tf.constant(2.5), '2.5'),
      (True, 'True'),
      (np.float64('nan'), 'nan'),
      (np.array([1, 2]), '[1 2]'),
    ],
  )
  def test_scalars_of_every_library(self, tmp_path, value, expected):
    path = tmp_path / 'a.csv'
    csv_logger.CSVLogger(str(path)).write({'a': value})
    assert _read(path)[0]['a'] == expected
