"""Programs that are built while the zygote imports."""

import sys

import pytest

from backends.local import this_machine
from tests import helpers


@pytest.fixture
def slow_module(tmp_path, monkeypatch):
  """A module that tells when its import begins, and then waits for a file."""
  (tmp_path / 'slow_module.py').write_text(
    'import pathlib, time\n'
    f'home = pathlib.Path({str(tmp_path)!r})\n'
    '(home / "importing").touch()\n'
    'deadline = time.monotonic() + 30\n'
    'while not (home / "built").exists():\n'
    '  assert time.monotonic() < deadline\n'
    '  time.sleep(0.02)\n'
  )
  monkeypatch.syspath_prepend(tmp_path)
  monkeypatch.setenv(helpers.MARKER, str(tmp_path))
  yield 'slow_module'
  helpers.assert_nothing_left(str(tmp_path))


def test_builds_while_the_parent_imports(slow_module, tmp_path):
  def build():
    helpers.wait_until((tmp_path / 'importing').exists, 'the import to begin')
    program = helpers.program(
      node=lambda: print('imported:', slow_module in sys.modules)
    )
    (tmp_path / 'built').touch()
    return program

  result, lines = helpers.run(build, preload=[slow_module])
  assert result.exit_code == 0
  assert lines.of('node/0') == ['imported: True']


def test_a_failure_to_build_is_raised_and_leaves_nothing(slow_module, tmp_path):
  def build():
    helpers.wait_until((tmp_path / 'importing').exists, 'the import to begin')
    raise ValueError('no such agent')

  config = this_machine.RunConfig(preload=[slow_module])
  with pytest.raises(ValueError, match='no such agent'):
    this_machine.run(build, config=config)
