"""R2D2 (Kapturowski et al., 2019, https://openreview.net/forum?id=r1lyTjAqYX).

For discrete actions: Q-learning with an LSTM, from prioritised replay of
sequences that carry the LSTM's state at their start.
"""

import compat  # noqa: F401

import haiku as hk
from acme import specs
from acme.agents.jax import r2d2

from programs.agents import AgentParts, configs, networks

Config = configs.R2D2


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config
) -> AgentParts:
  """Returns R2D2's parts for an experiment."""
  acme_config = r2d2.R2D2Config(
    discount=config.discount,
    target_update_period=config.target_update_period,
    num_epsilons=config.num_epsilons,
    variable_update_period=config.sequence_period,
    burn_in_length=config.burn_in_length,
    trace_length=config.trace_length,
    sequence_period=config.sequence_period,
    learning_rate=config.learning_rate,
    bootstrap_n=config.n_step,
    samples_per_insert=config.samples_per_insert,
    min_replay_size=config.min_replay_size,
    max_replay_size=config.max_replay_size,
    batch_size=config.batch_size,
    num_parallel_calls=1,
  )
  return AgentParts(
    builder=r2d2.R2D2Builder(
      _make_networks(environment_spec, config), acme_config
    ),
    network_factory=lambda spec: _make_networks(spec, config),
    policy_factory=lambda made: r2d2.make_behavior_policy(made, acme_config),
    eval_policy_factory=lambda made: r2d2.make_behavior_policy(
      made, acme_config, evaluation=True
    ),
    variable_names=('actor_variables',),
  )


def _make_networks(
  spec: specs.EnvironmentSpec, config: Config
) -> r2d2.R2D2Networks:
  """Returns networks from observations to (float32[batch, actions], state)."""

  def network():
    return networks.Recurrent(
      spec.observations,
      config.hidden_layer_sizes,
      lambda: hk.Linear(spec.actions.num_values),
    )

  return r2d2.make_networks(
    env_spec=spec,
    forward_fn=lambda x, s: network()(x, s),
    initial_state_fn=lambda size=None: network().initial_state(size),
    unroll_fn=lambda x, s: network().unroll(x, s),
    batch_size=config.batch_size,
  )
