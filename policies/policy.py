"""Loads a run's policy; this needs only JAX, NumPy and safetensors.

  act = policy.load('runs/.../policy')
  act.reset()                # at the start of each episode
  action = act(observation)

A policy is used where neither Reverb nor TensorFlow is installed. So of this
program, this module may import only `policies.nests` and `policies.functions`.
`policies.export` writes the folder:

policy.json             specs of observation and action, hashes of the files
parameters.safetensors  arrays by name; policy.json has their order for `act`
begin.stablehlo         key -> (key of the next episode, state)
act.stablehlo           (parameters, state, observation) -> (action, state)
"""

import hashlib
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import safetensors

from policies import functions, nests

FORMAT = 'launchpad-rl policy 1'
DESCRIPTION = 'policy.json'
PARAMETERS = 'parameters.safetensors'
BEGIN, ACT = 'begin.stablehlo', 'act.stablehlo'


class PolicyError(ValueError):
  """A folder holds no policy that can be loaded; the message says why."""


class Policy:
  """Acts as the run's evaluator did at the end; `load` returns one.

  Attributes:
    specs: the spec of the 'observation' that `__call__` takes, and the spec of
      the 'action' that it returns. Each is JSON: `{'dict': {name: spec}}`,
      `{'tuple': [spec, ...]}`, or `{'array': {...}}` with shape, dtype and
      bounds.
  """

  def __init__(
    self,
    specs: dict[str, Any],
    parameters: Sequence[np.ndarray],
    begin: functions.Function,
    act: functions.Function,
    random_key: np.ndarray,
  ):
    """Makes a policy, and puts its parameters on the CPU.

    Args:
      specs: the specs by 'observation' and 'action'; see the attribute.
      parameters: the leaves of the learner's parameters, as `act` takes them.
      begin: key -> (key of the next episode, state).
      act: (parameters, state, leaves of the observation) -> (leaves of the
        action, state).
      random_key: uint32[2], the key of the first episode.
    """
    self.specs = specs
    self._begin = begin
    self._act = act
    self._parameters = jax.device_put(list(parameters), functions.cpu())
    self._random_key = jax.device_put(random_key, functions.cpu())
    self._state = None

  def reset(self) -> None:
    """Begins an episode. Call this before each episode's first observation."""
    self._random_key, self._state = self._begin(self._random_key)

  def __call__(self, observation: Any) -> Any:
    """Returns the action for an observation.

    Args:
      observation: a nest of arrays, without a batch dimension.

    Raises:
      ValueError: the observation does not have the structure, shapes and dtypes
        of the run's environment.
    """
    if self._state is None:
      self.reset()
    leaves = nests.flatten(
      self.specs['observation'], observation, 'observation'
    )
    action, self._state = self._act(
      self._parameters, self._state, jax.device_put(leaves, functions.cpu())
    )
    return nests.unflatten(self.specs['action'], map(np.asarray, action))


def load(path: str | pathlib.Path, seed: int | None = None) -> Policy:
  """Loads the policy that a run wrote.

  Args:
    path: the policy's folder, `policy/` in the run directory.
    seed: the seed of a policy that draws its actions at random. None uses the
      random key of the run's first evaluator.

  Returns:
    The policy, ready to begin an episode.

  Raises:
    FileNotFoundError: there is no such folder.
    PolicyError: the folder holds no policy, some files are torn or missing, or
      this release of JAX cannot load the functions.
  """
  path = pathlib.Path(path)
  description = _read_description(path)
  try:
    return _assemble(path, description, seed)
  except PolicyError:
    raise
  except Exception as e:  # Damaged files can cause any error.
    raise PolicyError(
      f'{path} is damaged ({type(e).__name__}: {e}); export again'
    ) from e


def _assemble(
  path: pathlib.Path, description: Mapping[str, Any], seed: int | None
) -> Policy:
  content = {
    name: _read(path / name, digest)
    for name, digest in description['sha256'].items()
  }
  if seed is None:
    random_key = np.asarray(description['random_key'], np.uint32)
  else:
    key = jax.random.key(seed, impl=description['random_implementation'])
    random_key = np.asarray(jax.random.key_data(key))
  return Policy(
    description['specs'],
    _parameters(content[PARAMETERS], description),
    _rebuild(path, content[BEGIN], description, BEGIN),
    _rebuild(path, content[ACT], description, ACT),
    random_key,
  )


def _read_description(path: pathlib.Path) -> dict[str, Any]:
  if not path.is_dir():
    raise FileNotFoundError(
      f'there is no folder {path}; a run leaves its policy in policy/ of its '
      'run directory'
    )
  try:
    description = json.loads((path / DESCRIPTION).read_text())
  except FileNotFoundError:
    raise PolicyError(
      f'{path} holds no policy: it has no {DESCRIPTION}'
    ) from None
  except (ValueError, RecursionError):
    raise PolicyError(f'{path / DESCRIPTION} is torn; export again') from None
  found = description.get('format') if isinstance(description, dict) else None
  if found != FORMAT:
    raise PolicyError(
      f'{path} holds no policy that this program can load: its {DESCRIPTION} '
      f'says format {found!r}, not {FORMAT!r}'
    )
  return description


def _read(path: pathlib.Path, digest: str) -> bytes:
  """Returns a file's content, after a check of its SHA-256.

  Args:
    path: the file.
    digest: the SHA-256 that the content must have, in hex.
  """
  try:
    content = path.read_bytes()
  except FileNotFoundError:
    content = None
  if content is None or hashlib.sha256(content).hexdigest() != digest:
    raise PolicyError(
      f'{path} is {"missing" if content is None else "torn"}: the folder was '
      'not copied whole, or was just being replaced; copy or export again'
    )
  return content


def _parameters(
  content: bytes, description: Mapping[str, Any]
) -> list[np.ndarray]:
  """Returns the parameters in the order in which `act` takes them.

  `safetensors.numpy.load` is not used, since it does not know bfloat16.
  """
  tensors = dict(safetensors.deserialize(content))
  types = description['functions'][ACT]['inputs'][0]['leaves']
  return [
    np.frombuffer(tensors[name]['data'], functions.dtype(dtype)).reshape(shape)
    for name, (dtype, shape) in zip(
      description['parameters'], types, strict=True
    )
  ]


def _rebuild(
  path: pathlib.Path, code: bytes, description: Mapping[str, Any], name: str
) -> functions.Function:
  try:
    return functions.rebuild(code, description['functions'][name])
  except Exception as e:
    raise PolicyError(
      f'{path} was made with JAX {description["jax"]}, and JAX '
      f'{jax.__version__} cannot load it ({type(e).__name__}: {e}); install '
      f'jax=={description["jax"]}'
    ) from e
