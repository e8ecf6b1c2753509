"""Sets a task's environment variables after the libraries were imported.

A forked task has the libraries that its parent imported. Some libraries read
environment variables at import, so a variable that is set later has no effect.
These variables take effect nevertheless:

- `CUDA_VISIBLE_DEVICES`, `XLA_FLAGS`, `NPROC`, `TF_NUM_INTRAOP_THREADS`,
  `TF_NUM_INTEROP_THREADS`: JAX and TensorFlow read them when their backend
  starts, and it has not started yet in a forked task.
- `JAX_PLATFORMS` and the others that JAX reads at import: this module sets them
  in `jax.config`.
- `OPENBLAS_NUM_THREADS`, `OMP_NUM_THREADS`: this module sets the number of
  threads in each loaded OpenBLAS library.

`TF_CPP_MIN_LOG_LEVEL`, `PYTHON*`, `LD_*` and similar variables take effect in
two cases only: in `default_env`, which the parent of all forks gets too, or
with `start='spawn'`.
"""

import ctypes
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Mapping

# The parent of all forks sets these to 1 before it imports, because a process
# with threads must not fork. `zygote_client.task_env` gives each task the
# numbers that the launcher or the config has.
THREAD_COUNTS = ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS')
# In a variable's value, this text is replaced by a short hash that is the same
# on machines with the same kind of processor.
PROCESSOR = '{processor}'
# This one is replaced by half the number of cores that the task may use, or 1.
HALF_THE_CORES = '{half_the_cores}'

# The names under which NumPy's and SciPy's wheels export OpenBLAS's functions.
_OPENBLAS_NAMES = tuple(
  f'{prefix}openblas_%s{suffix}'
  for prefix in ('', 'scipy_')
  for suffix in ('', '64_')
)


def merged(env: Mapping[str, str | None]) -> dict[str, str]:
  """Returns this process's environment variables after changes are applied.

  Args:
    env: the changes; None unsets a variable. In a value, `PROCESSOR` and
      `HALF_THE_CORES` are replaced.
  """
  both = {**os.environ, **_filled_in(env)}
  return {name: value for name, value in both.items() if value is not None}


def _filled_in(env: Mapping[str, str | None]) -> dict[str, str | None]:
  filled = dict(env)
  for text, find in (
    (PROCESSOR, _processor),
    (HALF_THE_CORES, _half_the_cores),
  ):
    for name, value in filled.items():
      if value and text in value:
        filled[name] = value.replace(text, find())
  return filled


def _half_the_cores() -> str:
  return str(max(1, len(os.sched_getaffinity(0)) // 2))


@functools.cache
def _processor() -> str:
  """Returns a hash of the processor's model and instruction sets."""
  with open('/proc/cpuinfo') as f:
    lines = {line for line in f if line.startswith(('model name', 'flags'))}
  return hashlib.sha256(''.join(sorted(lines)).encode()).hexdigest()[:12]


def apply(env: Mapping[str, str | None]) -> None:
  """Sets environment variables, also in JAX and OpenBLAS if they are loaded.

  Args:
    env: the variables' values; None unsets a variable.

  Raises:
    ValueError: JAX does not accept one of the values.
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
      raise ValueError(f'JAX does not accept {name}={text!r}: {e}') from e


def _parse(text: str | None, current: object) -> object:
  """Converts a variable's text to the type of the option's current value."""
  if text is None:
    return None
  if isinstance(current, bool):
    return text.lower() in ('1', 'true', 't', 'yes', 'y', 'on')
  if isinstance(current, int | float):
    return type(current)(text)
  return text


def openblas(function: str) -> list[Callable[..., int]]:
  """Looks up one function in every loaded OpenBLAS library.

  NumPy and SciPy each load a library of their own.

  Args:
    function: the name of the function, such as `set_num_threads`.

  Returns:
    The function of each library.
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
