"""A process that uses a container imports what its leaves need, and no more."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import container
from tests.container import servers

_HEAVY = ('acme', 'haiku', 'jax', 'reverb', 'tensorflow')
_REPOSITORY = pathlib.Path(container.__file__).parents[1]

# Prints those of the modules in argv[3:] that the process has imported.
_PRINT_IMPORTED = 'print(*(m for m in sys.modules if m in sys.argv[3:]))'
_EXCHANGE = f"""
import sys
import numpy as np
import container

address, leaf_type = sys.argv[1:3]
make = np.ones
if leaf_type == 'jax':
  import jax.numpy
  make = jax.numpy.ones
elif leaf_type == 'tensorflow':
  import tensorflow
  make = tensorflow.ones
client = container.ReverbVariableContainer(address, leaf_type=leaf_type)
publisher = container.Publisher(client)
publisher.publish({{'w': make((2, 3), np.float32)}})
publisher.close()
assert np.asarray(client.pull()['w']).sum() == 6
assert client.snapshot(newer_than=1) is None
client.close()
{_PRINT_IMPORTED}
"""
_NAME = f"""
import sys
import container

getattr(container, sys.argv[1])
{_PRINT_IMPORTED}
"""


def imported(script, *args):
  """Returns which heavy packages a script has imported in its own process."""
  done = subprocess.run(
    [sys.executable, '-W', 'ignore', '-c', script, *args, *_HEAVY],
    cwd=_REPOSITORY,
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert not done.returncode, done.stderr
  return set(done.stdout.split())


@pytest.mark.parametrize('leaf_type', ['numpy', 'jax', 'tensorflow'])
def test_pushing_and_pulling_imports_what_the_leaves_need(leaf_type):
  table = container.variable_table({'w': np.zeros((2, 3), np.float32)})
  with servers.serving(table) as address:
    found = imported(_EXCHANGE, address, leaf_type)
  # TensorFlow imports JAX by itself where JAX is installed.
  allowed = {
    'numpy': set(),
    'jax': {'jax'},
    'tensorflow': {'tensorflow', 'jax'},
  }
  assert found <= allowed[leaf_type]


def test_only_the_variable_source_needs_acme():
  assert 'acme' in imported(_NAME, 'VariableSource', '')
  assert 'acme' not in imported(_NAME, 'variable_table', '')


def test_a_name_that_is_not_there_is_an_attribute_error():
  with pytest.raises(AttributeError, match="'container'.*'Containr'"):
    container.Containr  # noqa: B018
