"""Writes a run's policy to a folder that `policies.policy` can load anywhere.

The policy is the evaluator's: the pure functions of its actor are written as
StableHLO, and the learner's parameters go to a separate file.
"""

import hashlib
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from compat import acme_internals

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from acme import core, specs
from acme.agents.jax import actors

from nodes import learner as learner_lib
from nodes.checks import finite
from policies import policy
from programs import experiment as experiment_lib
from programs import seeding, variable_tables
from run_files import whole_folders

# Actors act on the CPU even if the learner has an accelerator.
_PLATFORM = 'cpu'
_RANDOM_IMPLEMENTATION = 'threefry2x32'


class ExportError(RuntimeError):
  """A policy cannot be exported; the message says why."""


def export_newest(
  experiment: experiment_lib.ExperimentConfig, directory: str | pathlib.Path
) -> None:
  """Writes the policy in the learner's newest checkpoint to a folder.

  Args:
    experiment: the experiment of the run. The run may still be going on.
    directory: the folder to write. If it exists, it is replaced as a whole.

  Raises:
    DamagedError: there are checkpoints, but all of them are damaged.
    MismatchError: the checkpoint is of another agent or other networks.
    ExportError: there is no checkpoint, or the policy cannot be exported.
    OSError: the folder cannot be written.
  """
  checkpointer = experiment.get_checkpointer('learner')
  saved = checkpointer.restore() if checkpointer else None
  if saved is None:
    raise ExportError(
      'the learner has left no checkpoint; it writes one every '
      '--checkpoint_every seconds and at its end'
    )
  learner = variable_tables.idle_learner(
    experiment,
    experiment.get_environment_spec(),
    seeding.process_key(experiment.seed, 'learner'),
  )
  learner_lib.restore(learner, saved)
  export(experiment, learner, directory)


def export(
  experiment: experiment_lib.ExperimentConfig,
  variable_source: core.VariableSource,
  directory: str | pathlib.Path,
) -> None:
  """Writes the evaluator's policy, with a learner's variables, to a folder.

  Args:
    experiment: the experiment to which the evaluator belongs.
    variable_source: the learner, or another source of its variables.
    directory: the folder to write. If it exists, it is replaced as a whole.

  Raises:
    ExportError: the policy cannot be exported.
    OSError: the folder cannot be written.
  """
  spec = experiment.get_environment_spec()
  actor = make_actor(experiment, variable_source)
  if not isinstance(actor, actors.GenericActor):
    raise ExportError(
      f'{type(actor).__name__} gives no access to its policy; make the '
      "builder's make_actor return an acme.agents.jax.actors.GenericActor, "
      'which consists of pure functions'
    )
  pure = acme_internals.pure_functions(actor)
  parameters = acme_internals.parameters(actor)
  named = _named_leaves(parameters)
  exported = _export_functions(pure, parameters, spec)
  content = {
    policy.PARAMETERS: safetensors.numpy.save(named),
    **{name: f.mlir_module_serialized for name, f in exported.items()},
  }
  description = {
    'format': policy.FORMAT,
    'jax': jax.__version__,
    'specs': {
      'observation': _describe(spec.observations),
      'action': _describe(spec.actions),
    },
    'random_implementation': _RANDOM_IMPLEMENTATION,
    'random_key': np.asarray(pure.random_key).tolist(),
    'parameters': list(named),
    'functions': {name: _signature(f) for name, f in exported.items()},
    'sha256': {
      name: hashlib.sha256(data).hexdigest() for name, data in content.items()
    },
  }
  content[policy.DESCRIPTION] = json.dumps(description, indent=2).encode()
  whole_folders.write(directory, content)


def make_actor(
  experiment: experiment_lib.ExperimentConfig,
  variable_source: core.VariableSource,
) -> core.Actor:
  """Returns the actor of the experiment's first evaluator."""
  spec = experiment.get_environment_spec()
  # `evaluators.DefaultEvaluatorFactory` splits the key in the same way.
  _, actor_key = jax.random.split(
    seeding.process_key(experiment.seed, 'evaluator')
  )
  return experiment.get_builder().make_actor(
    actor_key,
    experiment.make_policy(
      experiment.network_factory(spec), spec, evaluation=True
    ),
    spec,
    variable_source,
  )


def _named_leaves(parameters: Any) -> dict[str, np.ndarray]:
  """Returns the leaves by their paths, in JAX's order.

  Raises:
    ExportError: a leaf is not finite, or two leaves have the same path.
  """
  leaves, _ = jax.tree_util.tree_flatten_with_path(parameters)
  named = {
    jax.tree_util.keystr(path, simple=True, separator='/'): np.asarray(
      jnp.asarray(leaf)
    )
    for path, leaf in leaves
  }
  for name, leaf in named.items():
    if (found := finite.find(leaf, name)) is not None:
      raise ExportError(f'a parameter is not finite: {found}')
  if len(named) != len(leaves):
    raise ExportError(f'two parameters have the same name: {", ".join(named)}')
  return named


def _export_functions(
  pure: acme_internals.PureFunctions,
  parameters: Any,
  spec: specs.EnvironmentSpec,
) -> dict[str, jax.export.Exported]:
  """Returns the policy's functions by the names of their files.

  The actor's functions take and return nests. The exported ones take and return
  lists of the nests' leaves.

  Raises:
    ExportError: JAX cannot export a function, or `act` does not return an
      action and a state of the right shapes.
  """
  parameters, parameters_tree = _types(parameters)
  state, state_tree = _types(jax.eval_shape(pure.init, pure.random_key))
  observation, observation_tree = _types(spec.observations)

  def begin(random_key):
    # `GenericActor.observe_first` splits the key in the same way.
    random_key, key = jax.random.split(random_key)
    return random_key, jax.tree_util.tree_leaves(pure.init(key))

  def act(parameters, state, observation):
    action, new_state = pure.select_action(
      jax.tree_util.tree_unflatten(parameters_tree, parameters),
      jax.tree_util.tree_unflatten(observation_tree, observation),
      jax.tree_util.tree_unflatten(state_tree, state),
    )
    return [jax.tree_util.tree_leaves(nest) for nest in (action, new_state)]

  exported = {
    policy.BEGIN: _export_by_jax(begin, pure.random_key),
    policy.ACT: _export_by_jax(act, parameters, state, observation),
  }
  action, new_state = _outputs(exported[policy.ACT])
  _check_same('shape of action', _shapes(action), _shapes(spec.actions))
  _check_same('state', _types(new_state)[0], state)
  return exported


def _types(nest: Any) -> tuple[list[jax.ShapeDtypeStruct], Any]:
  """Returns the shapes and dtypes of a nest's leaves, and its structure."""
  leaves, tree = jax.tree_util.tree_flatten(nest)
  return [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves], tree


def _shapes(nest: Any) -> list[tuple[int, ...]]:
  return [leaf.shape for leaf in jax.tree_util.tree_leaves(nest)]


def _check_same(part: str, found: Any, expected: Any) -> None:
  """Checks that a part of what the policy returns is as expected."""
  if found != expected:
    raise ExportError(
      f"after a step the policy's {part} is {found}; expected {expected}"
    )


def _export_by_jax(function: Any, *arguments: Any) -> jax.export.Exported:
  try:
    export_typed = jax.export.export(jax.jit(function), platforms=[_PLATFORM])
    return export_typed(*arguments)
  except Exception as e:
    raise ExportError(
      f"JAX cannot export the evaluator's policy: {type(e).__name__}: {e}"
    ) from e


def _outputs(exported: jax.export.Exported) -> Any:
  return jax.tree_util.tree_unflatten(exported.out_tree, exported.out_avals)


def _signature(exported: jax.export.Exported) -> dict[str, Any]:
  """Returns the description that `functions.rebuild` needs beside the code."""
  inputs, _ = jax.tree_util.tree_unflatten(exported.in_tree, exported.in_avals)
  return {
    'name': exported.fun_name,
    'inputs': [_describe_types(part) for part in inputs],
    'outputs': [_describe_types(part) for part in _outputs(exported)],
    'platforms': list(exported.platforms),
    'calling_convention_version': exported.calling_convention_version,
    'kept_inputs': list(exported.module_kept_var_idx),
    'uses_global_constants': exported.uses_global_constants,
  }


def _describe_types(part: Any) -> Any:
  """Returns a leaf's type, or a list of types, for `functions.rebuild`."""
  if isinstance(part, list):
    return {'leaves': [_describe_types(leaf) for leaf in part]}
  return [str(part.dtype), list(part.shape)]


def _describe(spec: Any) -> dict[str, Any]:
  """Returns a nest of specs as JSON for `nests`, with leaves in JAX's order."""
  if isinstance(spec, Mapping):
    leaves, _ = jax.tree_util.tree_flatten_with_path(
      spec, is_leaf=lambda x: x is not spec
    )
    return {'dict': {path[0].key: _describe(part) for path, part in leaves}}
  if isinstance(spec, Sequence):
    return {'tuple': [_describe(part) for part in spec]}
  described = {
    'kind': type(spec).__name__,
    'name': spec.name,
    'shape': list(spec.shape),
    'dtype': str(spec.dtype),
  }
  if isinstance(spec, specs.DiscreteArray):
    described['num_values'] = int(spec.num_values)
  elif isinstance(spec, specs.BoundedArray):
    described['minimum'] = _bound(spec.minimum)
    described['maximum'] = _bound(spec.maximum)
  return {'array': described}


def _bound(values: np.ndarray) -> Any:
  """Returns a bound as nested lists of numbers, with None for an infinity."""
  if np.ndim(values):
    return [_bound(value) for value in values]
  return values.item() if np.isfinite(values) else None
