"""Lines are read from a pipe without waiting for them."""

import os

import pytest

from system import line_reader


@pytest.fixture
def pipe():
  reader, writer = os.pipe()
  yield line_reader.LineReader(reader), writer


def test_only_whole_lines_come_out_until_the_end(pipe):
  reader, writer = pipe
  assert reader.read() == []
  os.write(writer, b'one\ntw')
  assert reader.read() == ['one']
  os.write(writer, b'o\r\n\nthree')
  assert reader.read() == ['two', '']
  assert not reader.closed
  os.close(writer)
  assert reader.read() == ['three']
  assert reader.closed
  assert reader.close() == []


def test_a_pipe_that_others_hold_open_can_be_closed(pipe):
  reader, writer = pipe
  os.write(writer, b'one\nrest')
  assert reader.close() == ['one', 'rest']
  os.close(writer)


def test_a_line_without_end_is_cut(pipe):
  reader, writer = pipe
  written = 0
  lines = []
  for _ in range(40):
    written += os.write(writer, b'x' * 4096)
    lines += reader.read()
  os.close(writer)
  lines += reader.close()
  assert len(lines) > 1
  assert sum(map(len, lines)) == written


def test_bytes_that_are_no_text_are_shown(pipe):
  reader, writer = pipe
  os.write(writer, b'\xff\xfe ok\n')
  os.close(writer)
  assert reader.close() == ['\ufffd\ufffd ok']
