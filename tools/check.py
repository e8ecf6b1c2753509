"""Checks that a program runs in its own Python environment.

It runs before everything else. So it uses only the standard library, and any
Python 3 can run it.
"""

import os
import shlex
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# If one of these packages is missing, the set-up has not been run.
_PACKAGES = ('launchpad', 'reverb', 'acme', 'jax', 'tensorflow')


def check():
  """Exits with code 2 unless this is Python 3.10 with the packages."""
  problem = find_problem()
  if problem:
    sys.stderr.write(problem + '\n')
    sys.exit(2)


def find_problem():
  """Returns what is wrong and the command that repairs it, or None."""
  version = '.'.join(map(str, sys.version_info[:2]))
  if version != '3.10':
    return f'This needs Python 3.10 and runs on {version}: {_remedy()}'
  import importlib.util

  for package in _PACKAGES:
    if importlib.util.find_spec(package) is None:
      return f'The package `{package}` is not in {sys.prefix}: {_remedy()}'
  return None


def _remedy():
  python = os.path.join(_ROOT, '.venv', 'bin', 'python')
  if os.path.exists(python) and not _same_environment(python):
    command = ' '.join(map(shlex.quote, [os.path.relpath(python), *sys.argv]))
    return f'type `{command}` instead.'
  folder = shlex.quote(os.path.relpath(_ROOT))
  return f'type `make -C {folder} setup` first.'


def _same_environment(python):
  return os.path.dirname(python) == os.path.join(sys.prefix, 'bin')
