"""Says what is wrong with this machine or its packages, and how to repair it.

It uses only the standard library, since it must run even if no package is
installed.
"""

import ast
import configparser
import os
import platform
import shutil
import subprocess
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SETUP = os.path.join(_ROOT, 'setup.cfg')
_NAME = 'launchpad-rl'

# The packages whose module has another name, apart from dashes.
_MODULES = {
  'dm-acme': 'acme',
  'dm-haiku': 'haiku',
  'dm-launchpad': 'launchpad',
  'dm-reverb': 'reverb',
  'dm-sonnet': 'sonnet',
  'grpcio': 'grpc',
  'protobuf': 'google.protobuf',
  'tensorflow-cpu': 'tensorflow',
  # Only the part that Acme uses: the whole module needs a newer TensorFlow.
  'tensorflow-probability': 'tensorflow_probability.substrates.jax',
  'pyyaml': 'yaml',
}
# There is no `setup.cfg` if this program was installed as a package.
_RENEW = (
  'rm -rf .venv && make setup'
  if os.path.exists(_SETUP)
  else f'install {_NAME} again, with its dependencies'
)
_IMPORT_SECONDS = 300
# Prints a line after each module, so that the output shows in which module a
# crash was. `compat` comes first, since Acme cannot be imported without it.
_IMPORTER = """
import importlib, sys
for name in ['compat', *sys.argv[1:]]:
  try:
    importlib.import_module(name)
    error = ''
  except BaseException as e:
    error = f'{type(e).__name__}: {e}'
  print(repr((name, error)), flush=True)
"""


def main():
  """Prints the findings; returns the exit code, 1 if anything is wrong."""
  remedies = []
  for name, found, remedy in _findings():
    print(f'{"WRONG" if remedy else "ok":<7}{name:<24}{found}', flush=True)
    if remedy and remedy not in remedies:
      remedies.append(remedy)
  print('\nTo mend it:' if remedies else '\nNothing is wrong.')
  for remedy in remedies:
    print(f'  {remedy}')
  return 1 if remedies else 0


def _findings():
  """Yields tuples: what was checked, what was found, and the remedy or None."""
  yield from (_python(), _platform(), _shared_memory(), _disk(), _proxy())
  if _is_python_3_10():
    yield from _packages()


def _is_python_3_10():
  return sys.version_info[:2] == (3, 10)


def _python():
  found = f'{platform.python_version()} in {sys.prefix}'
  return 'Python', found, not _is_python_3_10() and 'make setup'


def _platform():
  found = f'{platform.system()} {platform.machine()}, {os.cpu_count()} cores'
  fits = (platform.system(), platform.machine()) == ('Linux', 'x86_64')
  return 'platform', found, not fits and 'use a machine with Linux on x86-64'


def _shared_memory():
  # If it is small, weights go through Reverb. So it is an error only if it is
  # missing.
  if not os.path.isdir('/dev/shm'):
    return '/dev/shm', 'missing', 'mount -t tmpfs tmpfs /dev/shm'
  usage = shutil.disk_usage('/dev/shm')
  return '/dev/shm', f'{_size(usage.free)} of {_size(usage.total)} free', None


def _disk():
  free = shutil.disk_usage(_ROOT).free
  remedy = free < 1e9 and f'free at least 1 GB of the disk that holds {_ROOT}'
  return 'disk', f'{_size(free)} free', remedy


def _proxy():
  # gRPC would send even loopback connections through the proxy, and hang.
  proxies = [n for n in ('http_proxy', 'https_proxy') if os.environ.get(n)]
  exempt = os.environ.get('no_proxy', '').split(',')
  if proxies and not {'localhost', '127.0.0.1'} <= set(exempt):
    remedy = 'export no_proxy="localhost,127.0.0.1,$no_proxy"'
    return 'proxy', f'{proxies[0]} catches loopback too', remedy
  return 'proxy', 'none for loopback', None


def _packages():
  # Imported here, since older versions of Python do not have it.
  from importlib import metadata

  pins = read_pins()
  versions = {}
  for package in pins:
    try:
      versions[package] = metadata.version(package)
    except metadata.PackageNotFoundError:
      yield package, f'missing, needs {pins[package]}', _RENEW
  modules = {p: _MODULES.get(p, p.replace('-', '_')) for p in versions}
  errors = try_imports(modules.values()) if modules else {}
  for package, version in versions.items():
    error = errors['compat'] or errors[modules[package]]
    if version != pins[package]:
      yield package, f'{version}, needs {pins[package]}', _RENEW
    elif error:
      yield package, f'{version}, not importable: {error}', _RENEW
    else:
      yield package, f'{version}, imports', None


def read_pins():
  """Returns the exact versions that this program needs, by package."""
  if os.path.exists(_SETUP):
    config = configparser.ConfigParser()
    config.read(_SETUP)
    requirements = config['options']['install_requires'].split()
  else:
    from importlib import metadata

    # If only an extra needs a package, the extra's name is after a semicolon.
    every = metadata.requires(_NAME)
    requirements = [text for text in every if ';' not in text]
  return dict(requirement.split('==') for requirement in requirements)


def try_imports(modules):
  """Imports modules after `compat`, in another process.

  Args:
    modules: the modules' names.

  Returns:
    The error of each module and of `compat`, by the module's name. It is empty
    if the import succeeded. If the process dies, the module in which it died
    and all modules after it have that as their error.
  """
  modules = list(modules)
  try:
    process = subprocess.run(
      [sys.executable, '-c', _IMPORTER, *modules],
      cwd=_ROOT,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      timeout=_IMPORT_SECONDS,
      text=True,
    )
    output, end = process.stdout, f'importing ended with {process.returncode}'
  except subprocess.TimeoutExpired as e:
    output = (e.stdout or b'').decode()
    end = f'importing took more than {_IMPORT_SECONDS} s'
  errors = dict.fromkeys(['compat', *modules], end)
  for line in output.splitlines():
    if line.startswith('('):
      module, error = ast.literal_eval(line)
      errors[module] = ' '.join(error.split())
  return errors


def _size(num_bytes):
  return f'{num_bytes / 1e9:.1f} GB'


if __name__ == '__main__':
  sys.exit(main())
