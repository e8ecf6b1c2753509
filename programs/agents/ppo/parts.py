"""PPO's builder and networks, in place of Acme's."""

from collections.abc import Iterator

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import reverb
from acme import specs
from acme.agents.jax import ppo as acme_ppo
from acme.jax import networks as networks_lib

from programs.agents.shared import description, networks, spaces


class _Builder(acme_ppo.PPOBuilder):
  """Acme's builder, but actors do not run ahead of the learner.

  The queue holds little more than one batch, and so does the learner's
  prefetching.
  """

  def __init__(self, config: acme_ppo.PPOConfig):
    super().__init__(config)
    self._batch_size = config.batch_size
    self._table_name = config.replay_table_name

  def make_replay_tables(
    self, environment_spec: specs.EnvironmentSpec
  ) -> list[reverb.Table]:
    (table,) = super().make_replay_tables(environment_spec)
    return [
      reverb.Table.queue(
        table.info.name,
        # An actor may write two sequences at the end of an episode.
        max_size=self._batch_size + 2,
        signature=table.info.signature,
      )
    ]

  def make_dataset_iterator(
    self, replay_client: reverb.Client
  ) -> Iterator[reverb.ReplaySample]:
    dataset = reverb.TrajectoryDataset.from_table_signature(
      server_address=replay_client.server_address,
      table=self._table_name,
      num_workers_per_iterator=1,
      max_in_flight_samples_per_worker=self._batch_size,
    )
    dataset = dataset.batch(self._batch_size, drop_remainder=True)
    return dataset.as_numpy_iterator()


def make(config: description.Config) -> description.AgentParts:
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
    builder=_Builder(acme_config),
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
