"""PPO's builder and networks, in place of Acme's."""

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from acme import specs
from acme.agents.jax import ppo as acme_ppo
from acme.jax import networks as networks_lib

from programs.agents.shared import (
  description,
  networks,
  packed_sequences,
  spaces,
)


def make(
  environment_spec: specs.EnvironmentSpec, config: description.Config
) -> description.AgentParts:
  """Returns the parts for an experiment."""
  acme_config = acme_ppo.PPOConfig(
    unroll_length=config.unroll_length,
    num_minibatches=config.num_minibatches,
    num_epochs=config.num_epochs,
    batch_size=config.batch_size,
    learning_rate=config.learning_rate,
    discount=config.discount,
    gae_lambda=config.gae_lambda,
    ppo_clipping_epsilon=config.clipping_epsilon,
    entropy_cost=config.entropy_cost,
    value_cost=config.value_cost,
  )
  return description.AgentParts(
    builder=packed_sequences.PackedSequences(
      acme_ppo.PPOBuilder(acme_config),
      environment_spec,
      acme_config,
      {'log_prob': np.zeros((), np.float32)},
      length=config.unroll_length + 1,
    ),
    network_factory=lambda spec: _make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=acme_ppo.make_inference_fn,
    variable_names=('network',),
  )


def _make_networks(
  spec: specs.EnvironmentSpec, hidden_layer_sizes: tuple[int, ...]
) -> acme_ppo.PPONetworks:
  """Returns networks from observations to (action distribution, value)."""

  def distribution_and_value(observation):
    def features() -> jax.Array:
      return networks.Torso(spec.observations, hidden_layer_sizes)(observation)

    if spaces.is_discrete(spec.actions):
      head = networks_lib.CategoricalHead(spec.actions.num_values)
    else:
      head = networks_lib.MultivariateNormalDiagHead(spec.actions.shape[0])
    value = hk.Linear(1)(features())
    return head(features()), jnp.squeeze(value, axis=-1)

  return acme_ppo.make_ppo_networks(
    networks.feed_forward(spec, distribution_and_value)
  )
