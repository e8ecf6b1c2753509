"""Rebuilds functions that JAX has exported, from their code and a description.

`jax.export.deserialize` would do the same, but it needs the package
flatbuffers, which JAX does not install. So this module makes an `Exported`
field by field, including its private fields, as they are in JAX 0.6.2. Other
such code is in `compat/`, but a policy must load without that folder.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

Function = Callable[..., Any]


def rebuild(code: bytes, description: Mapping[str, Any]) -> Function:
  """Returns an exported function, compiled for the CPU.

  Evaluators act on the CPU, and another device would round differently.

  Args:
    code: the function as StableHLO, in JAX's serialized form.
    description: the function's name, types and options, as `export` wrote them.

  Raises:
    Exception: JAX cannot load the code, or the description is damaged.
  """
  exported = _exported(code, description)
  types, _ = jax.tree_util.tree_unflatten(exported.in_tree, exported.in_avals)
  with jax.default_device(cpu()):
    return jax.jit(exported.call).lower(*types).compile()


def cpu() -> jax.Device:
  """Returns the device that policies act on."""
  return jax.devices('cpu')[0]


def dtype(name: str) -> np.dtype:
  """Returns JAX's dtype of this name; NumPy alone does not know bfloat16."""
  return np.dtype(getattr(jnp, name))


def _exported(
  code: bytes, description: Mapping[str, Any]
) -> jax.export.Exported:
  in_tree, in_avals = _abstract(description['inputs'])
  out_tree, out_avals = _abstract(description['outputs'])
  no_in, no_out = (None,) * len(in_avals), (None,) * len(out_avals)
  known = {
    'fun_name': description['name'],
    # A pair: the positional arguments, and the keyword arguments.
    'in_tree': jax.tree_util.tree_structure((in_tree, {})),
    'in_avals': in_avals,
    'out_tree': jax.tree_util.tree_structure(out_tree),
    'out_avals': out_avals,
    'in_shardings_hlo': no_in,
    'out_shardings_hlo': no_out,
    # Releases after JAX 0.6 have these three fields.
    '_in_named_shardings': no_in,
    '_out_named_shardings': no_out,
    '_has_named_shardings': False,
    'nr_devices': 1,
    'platforms': tuple(description['platforms']),
    'ordered_effects': (),
    'unordered_effects': (),
    'disabled_safety_checks': (),
    'mlir_module_serialized': code,
    'calling_convention_version': description['calling_convention_version'],
    'module_kept_var_idx': tuple(description['kept_inputs']),
    'uses_global_constants': description['uses_global_constants'],
    '_get_vjp': None,
  }
  fields = dataclasses.fields(jax.export.Exported)
  return jax.export.Exported(**{f.name: known[f.name] for f in fields})


def _abstract(described: Any) -> tuple[Any, tuple[Any, ...]]:
  """Returns the structure of arguments or results, and the types of all leaves.

  Args:
    described: a sequence of leaves and lists of leaves. A leaf is `[dtype,
      shape]`, and a list of leaves is `{'leaves': [...]}`.

  Returns:
    The structure: a tuple of zeros and lists of zeros, one for each leaf. And
    the `ShapedArray` of each leaf, in order.
  """
  avals = []

  def visit(part):
    if isinstance(part, dict):
      return [visit(leaf) for leaf in part['leaves']]
    name, shape = part
    avals.append(jax.core.ShapedArray(tuple(shape), dtype(name)))
    return 0

  return tuple(map(visit, described)), tuple(avals)
