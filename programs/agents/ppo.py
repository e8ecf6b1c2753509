"""PPO (Schulman et al., 2017, https://arxiv.org/abs/1707.06347).

On-policy, for discrete actions and for continuous ones in [-1, 1]. Actors wait
in a short queue, so that the learner's batches are of recent weights.
"""

import dataclasses

import compat  # noqa: F401

import haiku as hk
import jax.numpy as jnp
import reverb
from acme import specs
from acme.agents.jax import ppo
from acme.jax import networks as networks_lib
from acme.jax import utils

from programs.agents import AgentParts, actions


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of PPO.

  Attributes:
    hidden_layer_sizes: of the policy's and of the value's network.
    learning_rate: of Adam.
    unroll_length: steps of a trajectory.
    batch_size: trajectories of a learner step.
    num_minibatches: that a batch is cut into.
    num_epochs: passes over a batch.
    discount: of future rewards.
    gae_lambda: of generalised advantage estimation.
    clipping_epsilon: how far the policy moves in a learner step.
    entropy_cost: weight of the policy's entropy in the loss.
    value_cost: weight of the value's error in the loss.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 3e-4
  unroll_length: int = 64
  batch_size: int = 16
  num_minibatches: int = 8
  num_epochs: int = 8
  discount: float = 0.99
  gae_lambda: float = 0.95
  clipping_epsilon: float = 0.2
  entropy_cost: float = 0.0
  value_cost: float = 0.5


class _Builder(ppo.PPOBuilder):
  """Acme's builder, with a queue that does not let actors run ahead."""

  def make_replay_tables(
    self, environment_spec: specs.EnvironmentSpec
  ) -> list[reverb.Table]:
    (table,) = super().make_replay_tables(environment_spec)
    return [
      reverb.Table.queue(
        table.info.name,
        # An actor may write two sequences at the end of an episode.
        max_size=self._config.batch_size + 2,
        signature=table.info.signature,
      )
    ]


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config | None = None
) -> AgentParts:
  """Returns PPO's parts for an experiment.

  Raises:
    ValueError: the actions are neither discrete nor continuous in [-1, 1].
  """
  config = config or Config()
  if not actions.is_discrete(environment_spec.actions):
    actions.check_continuous('ppo', environment_spec.actions)
  acme_config = ppo.PPOConfig(
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
  return AgentParts(
    builder=_Builder(acme_config),
    network_factory=lambda spec: _make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=ppo.make_inference_fn,
    eval_policy_factory=lambda networks: ppo.make_inference_fn(
      networks, evaluation=True
    ),
    variable_names=('network',),
  )


def _make_networks(
  spec: specs.EnvironmentSpec, hidden_layer_sizes: tuple[int, ...]
) -> ppo.PPONetworks:
  """Returns networks from observations to (action distribution, value)."""
  if not actions.is_discrete(spec.actions):
    return ppo.make_gym_networks(spec, hidden_layer_sizes, hidden_layer_sizes)

  def distribution_and_value(observation):
    inputs = utils.batch_concat(observation)
    hidden = hk.nets.MLP(
      hidden_layer_sizes, activation=jnp.tanh, activate_final=True
    )(inputs)
    distribution = networks_lib.CategoricalHead(spec.actions.num_values)(hidden)
    value = hk.nets.MLP([*hidden_layer_sizes, 1], activation=jnp.tanh)(inputs)
    return distribution, jnp.squeeze(value, axis=-1)

  network = hk.without_apply_rng(hk.transform(distribution_and_value))
  observation = utils.add_batch_dim(utils.zeros_like(spec.observations))
  return ppo.make_ppo_networks(
    networks_lib.FeedForwardNetwork(
      lambda key: network.init(key, observation), network.apply
    )
  )
