"""Requests for more or fewer tasks, and their answers, as files."""

import pytest

from run_files import scale_requests


def test_a_request_is_taken_once_and_answered(tmp_path):
  log_dir = str(tmp_path)
  first = scale_requests.ask(log_dir, 'worker', 4)
  second = scale_requests.ask(log_dir, 'worker', 2)
  assert scale_requests.oldest(log_dir, except_for=()) == first
  assert scale_requests.oldest(log_dir, except_for=[first]) == second
  assert scale_requests.take(log_dir, first) == ('worker', 4)
  assert scale_requests.take(log_dir, first) is None
  assert scale_requests.answer(log_dir, first) is None
  scale_requests.reply(log_dir, first, '')
  assert scale_requests.answer(log_dir, first) == ''


def test_a_file_that_is_no_request_is_an_error_and_removed(tmp_path):
  path = tmp_path / 'scale-7.json'
  path.write_text('{"label": "worker", "count": 0}')
  with pytest.raises(ValueError, match='is not a request'):
    scale_requests.take(str(tmp_path), '7')
  assert not path.exists()


def test_nothing_is_left_of_a_request_that_was_withdrawn(tmp_path):
  key = scale_requests.ask(str(tmp_path), 'worker', 4)
  scale_requests.withdraw(str(tmp_path), key)
  assert not list(tmp_path.iterdir())
