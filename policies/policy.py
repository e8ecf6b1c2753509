"""A run's policy afterwards, with JAX, NumPy and safetensors alone.

  act = policy.load('runs/.../policy')
  act.reset()                # at the start of each episode
  action = act(observation)

Nothing here may import the rest of the program: neither Reverb nor TensorFlow
runs where a policy is used. `policies.export` writes the folder:

policy.json             what the policy takes and gives, and the files' hashes
parameters.safetensors  by name, in the order in which `act` takes them
begin.stablehlo         key -> (key of the next episode, state)
act.stablehlo           (parameters, state, observation) -> (action, state)
"""

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import safetensors

FORMAT = 'launchpad-rl policy 1'
DESCRIPTION = 'policy.json'
PARAMETERS = 'parameters.safetensors'
BEGIN, ACT = 'begin.stablehlo', 'act.stablehlo'

Function = Callable[..., Any]


class PolicyError(ValueError):
  """A folder holds no policy that can be loaded; its text says why."""


class Policy:
  """Acts as the run's evaluator did at the end; `load` makes one.

  Attributes:
    specs: of what `__call__` takes, the 'observation', and returns, the
      'action': `{'dict': {name: nest}}`, `{'tuple': [nest]}`, or `{'array':
      {...}}` with shape, dtype and bounds.
  """

  def __init__(
    self,
    specs: dict[str, Any],
    parameters: Sequence[np.ndarray],
    begin: Function,
    act: Function,
    random_key: np.ndarray,
  ):
    self.specs = specs
    self._begin = begin
    self._act = act
    self._parameters = jax.device_put(list(parameters), _cpu())
    self._random_key = jax.device_put(random_key, _cpu())
    self._state = None

  def reset(self) -> None:
    """Begins an episode: call it before the first observation of each."""
    self._random_key, self._state = self._begin(self._random_key)

  def __call__(self, observation: Any) -> Any:
    """Returns the action after an observation.

    Args:
      observation: a nest of arrays, without a batch dimension.

    Raises:
      ValueError: it is not what the environment of the run gave.
    """
    if self._state is None:
      self.reset()
    leaves = _flatten(self.specs['observation'], observation, 'observation')
    action, self._state = self._act(
      self._parameters, self._state, jax.device_put(leaves, _cpu())
    )
    return _unflatten(self.specs['action'], map(np.asarray, action))


def load(path: str | pathlib.Path, seed: int | None = None) -> Policy:
  """Loads the policy that a run left.

  Args:
    path: of the folder, `policy/` in the run directory.
    seed: of the actions, for a policy that draws them at random. None goes on
      from the key of the run's first evaluator.

  Returns:
    The policy, about to begin an episode.

  Raises:
    FileNotFoundError: there is no such folder.
    PolicyError: it holds something else, is torn, or is not for this JAX.
  """
  path = pathlib.Path(path)
  description = _read_description(path)
  try:
    return _assembled(path, description, seed)
  except PolicyError:
    raise
  except Exception as e:  # Whatever the files say.
    raise PolicyError(
      f'{path} is damaged ({type(e).__name__}: {e}); export again'
    ) from e


def _assembled(
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
  """Returns the parameters in order.

  `safetensors.numpy.load` does not know bfloat16.
  """
  tensors = dict(safetensors.deserialize(content))
  types = description['functions'][ACT]['inputs'][0]['leaves']
  return [
    np.frombuffer(tensors[name]['data'], _dtype(dtype)).reshape(shape)
    for name, (dtype, shape) in zip(
      description['parameters'], types, strict=True
    )
  ]


def _rebuild(
  path: pathlib.Path, module: bytes, description: Mapping[str, Any], name: str
) -> Function:
  """Returns an exported function, compiled for the CPU.

  Evaluators act there, and another device rounds otherwise.
  """
  try:
    exported = _exported(module, description['functions'][name])
    types, _ = jax.tree_util.tree_unflatten(exported.in_tree, exported.in_avals)
    with jax.default_device(_cpu()):
      return jax.jit(exported.call).lower(*types).compile()
  except Exception as e:
    raise PolicyError(
      f'{path} was made with JAX {description["jax"]}, and {jax.__version__} '
      f'cannot take it ({type(e).__name__}: {e}); install '
      f'jax=={description["jax"]}'
    ) from e


def _cpu() -> jax.Device:
  return jax.devices('cpu')[0]


def _exported(
  module: bytes, signature: Mapping[str, Any]
) -> jax.export.Exported:
  """Returns what `jax.export.deserialize` would.

  That one asks for flatbuffers, which nothing else here does and which is not
  among JAX's requirements.
  """
  in_tree, in_avals = _abstract(signature['inputs'])
  out_tree, out_avals = _abstract(signature['outputs'])
  no_in, no_out = (None,) * len(in_avals), (None,) * len(out_avals)
  known = {
    'fun_name': signature['name'],
    # The arguments by position, and those by name.
    'in_tree': jax.tree_util.tree_structure((in_tree, {})),
    'in_avals': in_avals,
    'out_tree': jax.tree_util.tree_structure(out_tree),
    'out_avals': out_avals,
    'in_shardings_hlo': no_in,
    'out_shardings_hlo': no_out,
    # Later releases than 0.6 have these.
    '_in_named_shardings': no_in,
    '_out_named_shardings': no_out,
    '_has_named_shardings': False,
    'nr_devices': 1,
    'platforms': tuple(signature['platforms']),
    'ordered_effects': (),
    'unordered_effects': (),
    'disabled_safety_checks': (),
    'mlir_module_serialized': module,
    'calling_convention_version': signature['calling_convention_version'],
    'module_kept_var_idx': tuple(signature['kept_inputs']),
    'uses_global_constants': signature['uses_global_constants'],
    '_get_vjp': None,
  }
  fields = dataclasses.fields(jax.export.Exported)
  return jax.export.Exported(**{f.name: known[f.name] for f in fields})


def _abstract(nests: Any) -> tuple[Any, tuple[Any, ...]]:
  """Returns a tuple of leaves and lists of leaves, and all the leaves' types.

  A leaf is `[dtype, shape]`, and a list of them `{'leaves': [...]}`.
  """
  avals = []

  def visit(nest):
    if isinstance(nest, dict):
      return [visit(leaf) for leaf in nest['leaves']]
    dtype, shape = nest
    avals.append(jax.core.ShapedArray(tuple(shape), _dtype(dtype)))
    return 0

  return tuple(map(visit, nests)), tuple(avals)


def _dtype(name: str) -> np.dtype:
  """Returns JAX's dtype: NumPy may know another's by the name of bfloat16."""
  return np.dtype(getattr(jnp, name))


def _flatten(spec: Any, nest: Any, where: str) -> list[np.ndarray]:
  """Returns the leaves of a nest, checked against its spec."""
  ((kind, inner),) = spec.items()
  if kind == 'array':
    return [_leaf(inner, nest, where)]
  if kind == 'dict':
    if not isinstance(nest, Mapping) or set(nest) != set(inner):
      raise ValueError(f'{where} is not a dict of {", ".join(inner)}')
    parts = [(inner[name], nest[name], f'{where}/{name}') for name in inner]
  else:
    if not isinstance(nest, tuple | list) or len(nest) != len(inner):
      raise ValueError(f'{where} is not a sequence of {len(inner)}')
    parts = [(part, nest[i], f'{where}/{i}') for i, part in enumerate(inner)]
  return [leaf for part in parts for leaf in _flatten(*part)]


def _leaf(spec: Mapping[str, Any], value: Any, where: str) -> np.ndarray:
  array, dtype = np.asarray(value), np.dtype(spec['dtype'])
  if array.shape != tuple(spec['shape']):
    raise ValueError(
      f'{where}: expected shape {spec["shape"]}, got {list(array.shape)}'
    )
  if not np.can_cast(array.dtype, dtype, 'same_kind'):
    raise ValueError(f'{where}: expected {dtype}, got {array.dtype}')
  with np.errstate(over='ignore'):
    cast = array.astype(dtype)
  is_kept = cast == array
  if dtype.kind == 'f':
    is_kept = np.isfinite(cast) | ~np.isfinite(array)
  if not np.all(is_kept):
    raise ValueError(
      f'{where}: {dtype} does not hold {array[~is_kept].flat[0]}'
    )
  return cast


def _unflatten(spec: Any, leaves: Any) -> Any:
  """Returns the nest of a spec with these leaves, taken from an iterator."""
  ((kind, inner),) = spec.items()
  if kind == 'array':
    return next(leaves)
  if kind == 'dict':
    return {name: _unflatten(part, leaves) for name, part in inner.items()}
  return tuple(_unflatten(part, leaves) for part in inner)
