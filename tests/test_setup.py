"""Tests the set-up with a fake Python and package index, and the doctor.

The real set-up made the environment that these tests run in.
"""

import ast
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tools import check, doctor

ROOT = pathlib.Path(__file__).parents[1]

# The commands that the scripts call, besides Python.
_COMMANDS = (
  'basename bash cat cp dirname env flock ln mkdir mktemp mv readlink rm '
  'sha256sum sleep touch uname'
)

# A fake Python. It logs each installation. Its `-m venv` makes an environment
# whose Python is a link to this script.
_PYTHON = """#!/usr/bin/env bash
case "$*" in
  -Ic*) echo "$0" ;;
  -ISc*) ;;
  '-m venv .venv')
    mkdir -p .venv/bin
    ln -s "$0" .venv/bin/python
    ;;
  '-m ensurepip') ;;
  '-m pip'*tools/uv.lock)
    [[ ! -e $HOME/no_uv ]] || exit 1
    cp "$0" .venv/bin/uv
    ;;
  *)
    echo "$(basename "$0") $*" >>"$HOME/installed"
    if [[ -e $HOME/hang ]]; then touch "$HOME/hangs"; sleep 60; fi
    [[ ! -e $HOME/no_index ]] || exit 1
    ;;
esac
"""


class Machine:
  """A checkout that has only the set-up, on a machine with few commands."""

  def __init__(self, home: pathlib.Path):
    self.home = home
    self.checkout = home / 'checkout'
    self._bin = home / 'bin'
    self._bin.mkdir()
    (self.checkout / 'tools').mkdir(parents=True)
    for name in (
      'tools/setup.sh',
      'tools/uv.lock',
      'setup.cfg',
      'pyproject.toml',
      'requirements.lock',
    ):
      shutil.copy(ROOT / name, self.checkout / name)
    for name in _COMMANDS.split():
      (self._bin / name).symlink_to(shutil.which(name))

  def add_command(self, path: str, script: str) -> None:
    """Adds a command.

    Args:
      path: where, relative to the home directory.
      script: the text of the command's file.
    """
    command = self.home / path
    command.parent.mkdir(parents=True, exist_ok=True)
    command.unlink(missing_ok=True)
    command.write_text(script)
    command.chmod(0o755)

  def start(self) -> subprocess.Popen:
    return subprocess.Popen(
      [self._bin / 'bash', self.checkout / 'tools' / 'setup.sh'],
      cwd='/',
      env={'HOME': str(self.home), 'PATH': str(self._bin)},
      stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      start_new_session=True,
    )

  def set_up(self) -> tuple[int, list[str]]:
    """Runs the set-up; returns its exit code and the lines it printed."""
    process = self.start()
    output, _ = process.communicate(timeout=60)
    return process.returncode, output.splitlines()

  @property
  def installed(self) -> list[str]:
    path = self.home / 'installed'
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(tmp_path) -> Machine:
  machine = Machine(tmp_path)
  machine.add_command('bin/python3.10', _PYTHON)
  return machine


def test_installs_once(machine):
  code, lines = machine.set_up()
  assert (code, lines[-1]) == (0, 'set-up: Ready.')
  packages, program = machine.installed
  assert packages.startswith('uv pip install')
  assert '--require-hashes --requirement requirements.lock' in packages
  assert program.endswith('--editable .')
  assert machine.set_up() == (0, [])
  assert len(machine.installed) == 2


def test_a_new_lock_is_installed_into_the_same_environment(machine):
  machine.set_up()
  (machine.checkout / '.venv' / 'of_the_user').touch()
  with open(machine.checkout / 'requirements.lock', 'a') as f:
    f.write('another==1\n')
  assert machine.set_up()[0] == 0
  assert len(machine.installed) == 4
  assert (machine.checkout / '.venv' / 'of_the_user').exists()


def test_a_set_up_killed_in_the_middle_is_begun_again(machine):
  (machine.home / 'hang').touch()
  process = machine.start()
  deadline = time.monotonic() + 60
  while not (machine.home / 'hangs').exists():
    assert time.monotonic() < deadline, 'the installation never began'
    time.sleep(0.05)
  os.killpg(process.pid, signal.SIGKILL)
  process.communicate(timeout=60)
  (machine.home / 'hang').unlink()
  torn = machine.checkout / '.venv' / 'torn'
  torn.touch()
  assert machine.set_up()[0] == 0
  assert not torn.exists()
  assert machine.set_up() == (0, [])


def test_two_at_once_install_once(machine):
  processes = [machine.start() for _ in range(3)]
  for process in processes:
    process.communicate(timeout=60)
  assert [process.returncode for process in processes] == [0, 0, 0]
  assert len(machine.installed) == 2


def test_pip_installs_where_uv_cannot_be_had(machine):
  (machine.home / 'no_uv').touch()
  assert machine.set_up()[0] == 0
  assert machine.installed[0].startswith('python -m pip install')


def test_an_installation_that_failed_is_said_to_have_and_is_repeated(machine):
  (machine.home / 'no_index').touch()
  code, lines = machine.set_up()
  assert code == 1
  assert 'could not be installed' in lines[-1]
  (machine.home / 'no_index').unlink()
  assert machine.set_up()[0] == 0


def test_finds_pyenvs_python_behind_a_shim_that_fails(machine):
  machine.add_command('bin/python3.10', '#!/usr/bin/env bash\nexit 127\n')
  machine.add_command('.pyenv/versions/3.10.9/bin/python3.10', _PYTHON)
  code, lines = machine.set_up()
  assert code == 0
  assert lines[0].endswith('/.pyenv/versions/3.10.9/bin/python3.10')


def test_no_python_3_10(machine):
  machine.add_command('bin/python3.10', '#!/usr/bin/env bash\nexit 127\n')
  code, lines = machine.set_up()
  assert code == 1
  assert lines[-1].startswith('set-up: No CPython 3.10 is here')
  assert not (machine.checkout / '.venv').exists()


def test_another_kind_of_machine(machine):
  machine.add_command(
    'bin/uname',
    '#!/usr/bin/env bash\n[[ $1 == -s ]] && echo Darwin || echo arm64\n',
  )
  code, (line,) = machine.set_up()
  assert code == 1
  assert 'Linux on x86-64' in line
  assert 'Darwin arm64' in line


@pytest.mark.parametrize('name', ['launch.py', 'tools/check.py'])
def test_an_old_python_can_read_as_far_as_the_check(name):
  ast.parse((ROOT / name).read_text(), feature_version=(3, 6))


def test_launch_outside_the_environment():
  # Without `site`, Python does not find the packages of its environment.
  result = subprocess.run(
    [sys.executable, '-S', 'launch.py', '--num_actors=4'],
    cwd=ROOT,
    capture_output=True,
    text=True,
    timeout=60,
    check=False,
  )
  assert result.returncode == 2
  (line,) = result.stderr.splitlines()
  assert 'launchpad' in line
  assert 'setup` first' in line or 'launch.py --num_actors=4` instead' in line


def test_launch_under_another_python(monkeypatch):
  monkeypatch.setattr(sys, 'version_info', (3, 12, 1))
  assert 'needs Python 3.10 and runs on 3.12' in check.find_problem()


def test_nothing_is_wrong_here():
  assert check.find_problem() is None


def test_every_pinned_package_imports():
  result = subprocess.run(
    [sys.executable, '-m', 'tools.doctor'],
    cwd=ROOT,
    capture_output=True,
    text=True,
    timeout=300,
    check=False,
  )
  found = result.stdout.splitlines()
  pins = doctor.read_pins()
  assert len(pins) > 10
  for package, pin in pins.items():
    assert f'ok     {package:<24}{pin}, imports' in found


def test_doctor_names_what_mends_a_missing_package():
  result = subprocess.run(
    [sys.executable, '-S', '-m', 'tools.doctor'],
    cwd=ROOT,
    capture_output=True,
    text=True,
    timeout=60,
    check=False,
  )
  assert result.returncode == 1
  assert 'WRONG  jax                     missing' in result.stdout
  assert 'rm -rf .venv && make setup' in result.stdout.split('To mend it:')[1]


def test_doctor_tells_which_import_fails_or_crashes(tmp_path, monkeypatch):
  (tmp_path / 'crashing_module.py').write_text(
    'import os\nos.kill(os.getpid(), 9)\n'
  )
  monkeypatch.setenv('PYTHONPATH', str(tmp_path))
  errors = doctor.try_imports(
    ['json', 'no_such_module', 'crashing_module', 'csv']
  )
  assert errors.pop('no_such_module').startswith('ModuleNotFoundError')
  assert errors == {
    'compat': '',
    'json': '',
    'crashing_module': 'importing ended with -9',
    'csv': 'importing ended with -9',
  }
