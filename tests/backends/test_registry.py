"""Which backends there are: another one is a file and a line, no more."""

import ast
import pathlib
import subprocess
import sys

import pytest

from backends import api, registry
from cli import launching, watching
from tests.programs import samples

_ROOT = pathlib.Path(__file__).parents[2]
# What takes long to import, or may not be installed.
_SLOW = ('jax', 'launchpad', 'ray', 'reverb', 'tensorflow', 'xmanager')


@pytest.fixture
def printing(monkeypatch):
  monkeypatch.setitem(
    registry._BACKENDS,
    'printing',
    'tests.backends.printing:PrintingBackend',
  )


def test_a_backend_that_prints_its_plan_is_a_file_and_a_line(
  printing, tmp_path, capsys
):
  assert 'printing' in registry.names()
  assert 'bullet' in [flag.name for flag in registry.flags()]
  choice = registry.Choice('printing', own_flags={'bullet': '*'})
  watch = watching.Watch(60.0, quiet=False, sinks=())
  code = launching.train(
    samples.SETTINGS, tmp_path / 'run', choice, watch, resume=False
  )
  assert code == 0
  plan = capsys.readouterr().out.splitlines()
  assert {'* learner 1', '* actor 3', '* replay 1'} <= {*plan}


def test_its_flag_is_its_own(printing):
  with pytest.raises(
    api.RefusedError,
    match='--bullet needs --backend=printing, and this run has --backend=local',
  ):
    registry.make(registry.Choice(own_flags={'bullet': '*'}))


def test_each_flag_belongs_to_one_backend():
  names = [flag.name for flag in registry.flags()]
  assert sorted(names) == sorted({*names})


def test_a_scheduled_launcher_needs_no_flag_to_know_its_backend(monkeypatch):
  monkeypatch.setenv('LAUNCHPAD_LISTEN', '7700')
  backend = registry.make(registry.Choice())
  assert backend.name == 'kubernetes'
  assert backend.part == api.Part.SCHEDULED_LAUNCHER


def test_help_and_wrong_flags_wait_for_nothing_slow():
  code = (
    'import sys; from backends import registry; registry.flags(); '
    f'print([name for name in {_SLOW} if name in sys.modules])'
  )
  command = [sys.executable, '-c', code]
  assert subprocess.check_output(command, cwd=_ROOT, text=True) == '[]\n'


def _texts(node: ast.AST) -> set[str]:
  """Returns the texts that stand in an expression."""
  return {
    each.value
    for each in ast.walk(node)
    if isinstance(each, ast.Constant) and isinstance(each.value, str)
  }


def test_no_name_of_a_backend_is_compared_elsewhere():
  names = {*registry.names(), *registry.launch_types()}
  paths = [_ROOT / 'launch.py']
  for folder in ('cli', 'reporting', 'view', 'watchdog'):
    paths += (_ROOT / folder).rglob('*.py')
  compared = [
    f'{path.relative_to(_ROOT)}:{node.lineno}'
    for path in paths
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Compare | ast.MatchValue)
    if _texts(node) & names
  ]
  assert compared == []
