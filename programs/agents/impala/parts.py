"""IMPALA's builder, actor and networks, in place of Acme's."""

from typing import NamedTuple

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from acme import specs
from acme.agents.jax import actor_core, actors
from acme.agents.jax import impala as acme_impala
from acme.agents.jax.impala import builder as impala_builder
from acme.agents.jax.impala import networks as impala_networks
from acme.jax import utils, variable_utils

from programs.agents.shared import description, networks, packed_sequences


class _ActorState(NamedTuple):
  """What an actor carries from one step to the next.

  Attributes:
    random_key: the key from which the next action's key is split.
    core_state: the LSTM's state after the step.
    logits: float32[actions], the policy's logits at the step; replay keeps
      them.
    core_state_before: the LSTM's state before the step; replay keeps it.
  """

  random_key: jax.Array
  core_state: hk.LSTMState
  logits: jax.Array
  core_state_before: hk.LSTMState


class _Builder(impala_builder.IMPALABuilder):
  """Acme's builder, but actors fetch new weights for each sequence.

  Acme's actors fetch new weights every 1,000 steps. A small problem may be
  solved before that.
  """

  def __init__(
    self, config: acme_impala.IMPALAConfig, core_state: hk.LSTMState
  ):
    super().__init__(config, core_state)
    self._steps_between_updates = config.sequence_length

  def make_actor(
    self, random_key, policy_network, adder=None, variable_source=None
  ):
    return actors.GenericActor(
      policy_network,
      random_key,
      variable_utils.VariableClient(
        variable_source,
        'network',
        update_period=self._steps_between_updates,
        device='cpu',
      ),
      adder,
    )


def make(
  environment_spec: specs.EnvironmentSpec, config: description.Config
) -> description.AgentParts:
  """Returns the parts for an experiment."""
  acme_config = acme_impala.IMPALAConfig(
    batch_size=config.batch_size,
    sequence_length=config.sequence_length,
    learning_rate=config.learning_rate,
    discount=config.discount,
    entropy_cost=config.entropy_cost,
    baseline_cost=config.baseline_cost,
    max_gradient_norm=config.max_gradient_norm,
  )
  recurrent = _make_networks(environment_spec, config)
  core_state = recurrent.initial_state_fn(
    recurrent.initial_state_init_fn(jax.random.PRNGKey(0))
  )
  return description.AgentParts(
    builder=packed_sequences.PackedSequences(
      _Builder(acme_config, core_state),
      environment_spec,
      acme_config,
      {
        'core_state': core_state,
        'logits': np.zeros(environment_spec.actions.num_values, np.float32),
      },
      length=config.sequence_length,
    ),
    network_factory=lambda spec: _make_networks(spec, config),
    policy_factory=lambda recurrent: _make_actor_core(
      recurrent, environment_spec
    ),
    variable_names=('network',),
  )


def _make_actor_core(
  recurrent: impala_networks.IMPALANetworks, spec: specs.EnvironmentSpec
) -> actor_core.ActorCore:
  """Returns an actor core that acts as Acme's own actor for IMPALA does."""

  def init(random_key):
    key, random_key = jax.random.split(random_key)
    state = recurrent.initial_state_fn(recurrent.initial_state_init_fn(key))
    logits = jnp.zeros(spec.actions.num_values)
    return _ActorState(random_key, state, logits, state)

  def select_action(params, observation, before):
    random_key, key = jax.random.split(before.random_key)
    (logits, _), state = recurrent.forward_fn(
      params, observation, before.core_state
    )
    action = jax.random.categorical(key, logits)
    return action, _ActorState(random_key, state, logits, before.core_state)

  def get_extras(state):
    return {'logits': state.logits, 'core_state': state.core_state_before}

  return actor_core.ActorCore(init, select_action, get_extras)


def _make_networks(
  spec: specs.EnvironmentSpec, config: description.Config
) -> impala_networks.IMPALANetworks:
  """Returns networks from observations to ((logits, value), state)."""

  def network():
    return networks.Recurrent(
      spec.observations,
      config.hidden_layer_sizes,
      lambda: _PolicyAndValue(spec.actions.num_values),
    )

  # The actor's observations and the loss's sequences have no batch axis.
  def forward(observation, state):
    batched = utils.add_batch_dim((observation, state))
    return utils.squeeze_batch_dim(network()(*batched))

  def unroll(observations, state):
    observations = jax.tree_util.tree_map(lambda x: x[:, None], observations)
    outputs, state = network().unroll(observations, utils.add_batch_dim(state))
    outputs = jax.tree_util.tree_map(lambda x: x[:, 0], outputs)
    return outputs, utils.squeeze_batch_dim(state)

  return impala_networks.make_haiku_networks(
    env_spec=spec,
    forward_fn=forward,
    initial_state_fn=lambda: network().initial_state(),
    unroll_fn=unroll,
  )


class _PolicyAndValue(hk.Module):
  """Maps features to float32[batch, actions] logits and float32[batch]."""

  def __init__(self, num_actions: int):
    super().__init__(name='policy_and_value')
    self._logits = hk.Linear(num_actions)
    self._value = hk.Linear(1)

  def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
    return self._logits(features), jnp.squeeze(self._value(features), axis=-1)
