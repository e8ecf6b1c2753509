"""Lines that are drawn at the end of a terminal, over and over."""

import io

import pytest

from view import region


def _draw(*calls):
  terminal = io.StringIO()
  drawn = region.Region(terminal)
  for call in calls:
    terminal.truncate(0)
    terminal.seek(0)
    drawn.draw(*call)
  return terminal.getvalue()


def test_the_second_drawing_covers_the_first():
  text = _draw(([], ['a', 'b'], 80), ([], ['c', 'd'], 80))
  assert text.startswith('\r\033[2A')
  assert text.endswith('c\033[K\nd\033[K\n\033[J')


def test_lines_above_take_the_place_of_the_region():
  text = _draw(([], ['a', 'b'], 80), (['news'], ['a', 'b'], 80))
  assert text.startswith('\r\033[2A\033[Jnews\n')


def test_a_narrower_terminal_has_wrapped_the_lines():
  text = _draw(([], ['x' * 79, '\033[32my\033[0m'], 80), ([], ['z'], 40))
  assert text.startswith('\r\033[3A')


def test_without_lines_nothing_is_written():
  assert _draw(([], [], 80)) == ''


@pytest.mark.parametrize(
  'line, expected',
  [
    ('plain \ttext', 'plain \ttext'),
    ('\033[31mred\033[0m', '\033[31mred\033[0m\033[0m'),
    ('a\033[2Jb\033[3;4Hc\033[?25l', 'abc'),
    (' 10%\r 20%\r', ' 20%'),
    ('\033]0;title\007text\007', 'text'),
    ('\033Mup\033(B', 'up'),
    ('cut \033[', 'cut '),
    ('größer ▁█ 学', 'größer ▁█ 学'),
  ],
)
def test_only_colours_are_let_through(line, expected):
  assert region.clean(line) == expected
