"""All commands in README and docs/ are parsed, and the README's are run."""

import pathlib
import re
import shlex
import subprocess
import sys
import time

import absl.logging  # noqa: F401, defines --verbosity.
import pytest
from absl.testing import flagsaver

from cli import command, training_flags  # noqa: F401, defines the flags.

_ROOT = pathlib.Path(__file__).parents[2]
_PAGES = [
  *_ROOT.glob('*.md'),
  *(_ROOT / 'docs').rglob('*.md'),
  *(_ROOT / 'docs').rglob('*.ipynb'),
]
# Finds a command in a block of code or within a sentence.
_COMMAND = re.compile(r'python (launch\.py(?: [^`\n"]+)?)')
# A command with one of these is a pattern, not a command to type.
_OPEN = re.compile(r'\.\.\.|\bVERB\b|\bFILE\b')


def _commands(text: str) -> list[list[str]]:
  text = re.sub(r'\s*\\+(?:n",)?\n\s*"?', ' ', text)
  lines = [line for line in _COMMAND.findall(text) if not _OPEN.search(line)]
  return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize('page', _PAGES, ids=lambda page: page.name)
def test_commands_are_understood(page):
  for words in _commands(page.read_text()):
    if '--help' not in words:
      with flagsaver.flagsaver():
        command.parse(words)


def _wait_for(path: pathlib.Path, process: subprocess.Popen) -> None:
  deadline = time.monotonic() + 120
  while not path.exists():
    assert process.poll() is None and time.monotonic() < deadline
    time.sleep(0.2)


@pytest.mark.long
def test_the_readmes_commands_run(tmp_path):
  words_of_all = _commands((_ROOT / 'README.md').read_text())
  train, *others = [
    f'{sys.executable} {_ROOT}/{" ".join(words)}'
    for words in words_of_all
    # Examples of modules have tests of their own, in tests/e2e.
    if len(words) > 1 and 'module:' not in words[1]
  ]
  # The README's 20,000 steps would only take longer.
  train = train.replace('=20000', '=8000')
  training = subprocess.Popen(shlex.split(train), cwd=tmp_path)
  _wait_for(tmp_path / 'runs/one/metrics/learner_0.csv', training)
  for line in others:
    # A shell expands runs/*.
    subprocess.run(line, cwd=tmp_path, shell=True, check=True, timeout=200)
  assert training.wait(30) != 0
  assert (tmp_path / 'runs/one/report.html').exists()
  assert (tmp_path / 'out.mp4').stat().st_size > 0
