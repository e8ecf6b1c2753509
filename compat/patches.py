"""The patches. A comment at each one names the file that needs it."""

import importlib
import sys
import types
import warnings

import jax

_JAX_SERIES = '0.6.'

# Functions that `jax` had when Acme was written, and their names in
# `jax.tree_util`. acme/jax/utils.py and every learner in acme/agents/jax need
# them.
_TREE_FUNCTIONS = {
  'tree_flatten': 'tree_flatten',
  'tree_leaves': 'tree_leaves',
  'tree_map': 'tree_map',
  'tree_multimap': 'tree_map',
  'tree_structure': 'tree_structure',
  'tree_unflatten': 'tree_unflatten',
}


class IncompatibleVersionError(ImportError):
  """An installed package has a version that these patches do not fit."""


def apply() -> None:
  """Patches JAX and TensorFlow Probability so that Acme can be imported.

  Raises:
    IncompatibleVersionError: JAX or TensorFlow Probability has a version that
      these patches do not fit, or lacks something that they need.
  """
  _silence_old_releases()
  _check_jax()
  _restore_jax_aliases()
  _import_tfp_without_tensorflow()


def _check_jax() -> None:
  missing = [
    f'jax.tree_util.{name}'
    for name in sorted(set(_TREE_FUNCTIONS.values()))
    if not hasattr(jax.tree_util, name)
  ]
  missing += [f'jax.{n}' for n in ('Array', 'Device') if not hasattr(jax, n)]
  if missing or not jax.__version__.startswith(_JAX_SERIES):
    lacks = f', which lacks {", ".join(missing)}' if missing else ''
    raise IncompatibleVersionError(
      f'compat/patches.py is written for JAX {_JAX_SERIES}x and found '
      f'{jax.__version__}{lacks}. Install the pinned versions: `make setup`.'
    )


def _restore_jax_aliases() -> None:
  for old, new in _TREE_FUNCTIONS.items():
    setattr(jax, old, getattr(jax.tree_util, new))
  # acme/jax/variable_utils.py, acme/jax/utils.py, acme/agents/jax/impala.
  jax.xla = types.SimpleNamespace(Device=jax.Device, DeviceArray=jax.Array)
  # acme/jax/utils.py names the type that pmap returned.
  jax.pxla = types.SimpleNamespace(ShardedDeviceArray=jax.Array)
  # acme/jax/savers.py, acme/adders/reverb/utils.py, acme/jax/losses/impala.py.
  jax.numpy.DeviceArray = jax.Array


def _import_tfp_without_tensorflow() -> None:
  """Imports TensorFlow Probability without its TensorFlow half.

  If `sys.modules` has TensorFlow, as in Launchpad's workers,
  tensorflow_probability/python/__init__.py loads its TensorFlow half at once,
  and that half refuses TensorFlow 2.8. Otherwise it loads that half only when
  it is used. Acme's agents use only the JAX half.
  """
  tensorflow = sys.modules.pop('tensorflow', None)
  try:
    tfp = importlib.import_module('tensorflow_probability')
  except ImportError as e:
    raise IncompatibleVersionError(
      'tensorflow_probability cannot be imported. Import `compat` before it, '
      f'and install the pinned versions: `make setup`. ({e})'
    ) from e
  finally:
    if tensorflow is not None:
      sys.modules['tensorflow'] = tensorflow
  importlib.import_module('tensorflow_probability.substrates.jax')
  # acme/agents/jax/ail/losses.py uses the former path of the JAX half.
  tfp.experimental = types.SimpleNamespace(substrates=tfp.substrates)


def _silence_old_releases() -> None:
  """Silences warnings that the pinned releases would cause in every process.

  acme/wrappers/gym_wrapper.py imports gym, which prints that it is no longer
  maintained. acme/agents/jax/actors.py passes `backend` to `jax.jit`, which is
  deprecated. Acme's DQN asks for float64, and JAX gives it float32. Reverb, gym
  and TensorFlow use deprecated parts of Python and NumPy.
  """
  for message in (
    'Explicitly requested dtype .*float64',
    'backend and device argument on jit is deprecated',
    'distutils Version classes are deprecated',
    '`np.bool8` is a deprecated alias',
    # Google's packages print this. TensorFlow imports them if they are
    # installed, and Vertex AI's package installs them.
    'You are using a non-supported Python version',
  ):
    warnings.filterwarnings('ignore', message)
  importlib.import_module('gym_notices.notices').notices.clear()
  importlib.import_module('gym')
  # Importing gym makes Python show the deprecation warnings of all packages.
  shown = ('once', None, DeprecationWarning, None, 0)
  if shown in warnings.filters:
    warnings.filters.remove(shown)
    warnings._filters_mutated()
