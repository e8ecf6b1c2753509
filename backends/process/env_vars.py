"""Sets a task's environment variables in a process that has imported already.

After a fork some variables come too late, since a library read them when it
was imported. These take effect nevertheless:

- `CUDA_VISIBLE_DEVICES`, `XLA_FLAGS`, `NPROC`, `TF_NUM_INTRAOP_THREADS`,
  `TF_NUM_INTEROP_THREADS`: read when a backend starts, which has not happened
  yet in a forked task.
- `JAX_PLATFORMS` and the others that JAX reads at import: this module sets them
  in `jax.config`.
- `OPENBLAS_NUM_THREADS`, `OMP_NUM_THREADS`: this module sets them in each
  loaded OpenBLAS.

`TF_CPP_MIN_LOG_LEVEL`, `PYTHON*`, `LD_*` and the like take effect only as part
of `default_env`, which the parent of all forks has too, or with
`start='spawn'`.
"""

import ctypes
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Mapping

# The parent of all forks imports with one thread in each of these, because a
# process with threads must not fork. A task gets its own number back.
THREAD_COUNTS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS')
# In a variable's value, this stands for the kind of the machine's processor.
PROCESSOR = '{processor}'

# The names under which NumPy's and SciPy's wheels export OpenBLAS's functions.
_OPENBLAS_NAMES = tuple(
  f'{prefix}openblas_%s{suffix}'
  for prefix in ('', 'scipy_')
  for suffix in ('', '64_')
)


def merged(env: Mapping[str, str | None]) -> dict[str, str]:
  """Returns this process's environment variables with changes.

  Args:
    env: the changes; None unsets a variable. `PROCESSOR` in a value is filled
      in.
  """
  both = {**os.environ, **_filled_in(env)}
  return {name: value for name, value in both.items() if value is not None}


def _filled_in(env: Mapping[str, str | None]) -> dict[str, str | None]:
  return {
    name: value.replace(PROCESSOR, _processor())
    if value and PROCESSOR in value
    else value
    for name, value in env.items()
  }


@functools.cache
def _processor() -> str:
  """Returns a name for what this machine's processor can execute."""
  with open('/proc/cpuinfo') as f:
    lines = {line for line in f if line.startswith(('model name', 'flags'))}
  return hashlib.sha256(''.join(sorted(lines)).encode()).hexdigest()[:12]


def apply(env: Mapping[str, str | None]) -> None:
  """Sets the variables, also in the libraries that are loaded already.

  Args:
    env: the variables' values; None unsets one.

  Raises:
    ValueError: JAX does not take one of the values.
  """
  env = _filled_in(env)
  values = merged(env)
  for name, value in env.items():
    if value is None:
      os.environ.pop(name, None)
  os.environ.update(values)
  _update_jax(env)
  threads = next((values[k] for k in THREAD_COUNTS if k in values), None)
  if threads is not None:
    for set_threads in openblas('set_num_threads'):
      set_threads(int(threads))


def _update_jax(env: Mapping[str, str | None]) -> None:
  jax = sys.modules.get('jax')
  if jax is None:
    return
  for name, text in env.items():
    option = name.lower()
    if option not in jax.config.values:
      continue
    try:
      jax.config.update(option, _parse(text, jax.config.values[option]))
    except Exception as e:
      raise ValueError(f'JAX does not take {name}={text!r}: {e}') from e


def _parse(text: str | None, current: object) -> object:
  """Returns a variable's text as a value of the current value's type."""
  if text is None:
    return None
  if isinstance(current, bool):
    return text.lower() in ('1', 'true', 't', 'yes', 'y', 'on')
  if isinstance(current, int | float):
    return type(current)(text)
  return text


def openblas(function: str) -> list[Callable[..., int]]:
  """Returns a function of every loaded OpenBLAS library.

  NumPy and SciPy have one each.

  Args:
    function: the name of the function, such as `set_num_threads`.
  """
  with open('/proc/self/maps') as f:
    paths = {line.split(maxsplit=5)[-1].strip() for line in f}
  libraries = [
    ctypes.CDLL(path)
    for path in sorted(paths)
    if 'openblas' in os.path.basename(path)
  ]
  return [
    getattr(library, name % function)
    for library in libraries
    for name in _OPENBLAS_NAMES
    if hasattr(library, name % function)
  ]
