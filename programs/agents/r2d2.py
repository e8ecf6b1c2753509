"""R2D2 (Kapturowski et al., 2019, https://openreview.net/forum?id=r1lyTjAqYX).

For discrete actions: Q-learning with an LSTM, from prioritised replay of
sequences that carry the LSTM's state at their start.
"""

import dataclasses

from programs.agents.shared import description, limits


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of R2D2.

  Attributes:
    hidden_layer_sizes: units in each layer before the LSTM, which is as wide as
      the last of them.
    learning_rate: step size of the optimizer, Adam.
    batch_size: sequences in the batch of a gradient step.
    discount: discount factor of each step.
    burn_in_length: steps at a sequence's start that only warm up the LSTM.
    trace_length: steps of a sequence that the loss covers.
    sequence_period: steps between the starts of two sequences.
    samples_per_insert: how often each sequence is sampled on average; 0 sets no
      limit.
    min_replay_size: sequences in replay before learning starts.
    max_replay_size: sequences that replay keeps.
    target_update_period: gradient steps between updates of the target.
    n_step: number of rewards that are summed before bootstrapping.
    num_epsilons: number of different rates of random actions; each episode
      draws one of them.
  """

  hidden_layer_sizes: limits.LayerSizes = (64, 64)
  learning_rate: limits.NonNegative = 1e-3
  batch_size: limits.Count = 32
  discount: limits.Share = 0.99
  burn_in_length: limits.CountOrZero = 2
  trace_length: limits.Count = 10
  sequence_period: limits.Count = 5
  samples_per_insert: limits.NonNegative = 32.0
  min_replay_size: limits.Count = 100
  max_replay_size: limits.Count = 100_000
  target_update_period: limits.Count = 100
  n_step: limits.Count = 5
  num_epsilons: limits.Count = 8


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns R2D2's parts for an experiment."""
  from acme.agents.jax import r2d2

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
  return description.AgentParts(
    builder=r2d2.R2D2Builder(
      _make_networks(environment_spec, config), acme_config
    ),
    network_factory=lambda spec: _make_networks(spec, config),
    policy_factory=lambda networks: r2d2.make_behavior_policy(
      networks, acme_config
    ),
    eval_policy_factory=lambda networks: r2d2.make_behavior_policy(
      networks, acme_config, evaluation=True
    ),
    variable_names=('actor_variables',),
  )


def _make_networks(spec: description.EnvironmentSpec, config: Config):
  """Returns networks from observations to (float32[batch, actions], state)."""
  import haiku as hk
  from acme.agents.jax import r2d2

  from programs.agents.shared import networks

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


def check_config(config: Config) -> None:
  """Raises `ValueError` for settings that do not go together."""
  limits.check_replay(
    config.min_replay_size,
    config.max_replay_size,
    config.samples_per_insert,
    f'samples_per_insert={config.samples_per_insert}',
  )
  length = config.burn_in_length + config.trace_length + 1
  if config.sequence_period > length:
    raise ValueError(
      f'sequence_period={config.sequence_period} is above the {length} steps '
      'of a sequence (burn_in_length + trace_length + 1), so steps between '
      'sequences would be lost'
    )


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.DISCRETE,),
  observations=description.ANY_OBSERVATIONS,
  learns_from=description.LearnsFrom.ACTORS,
  check_config=check_config,
)
