"""D4PG (Barth-Maron et al., 2018, https://arxiv.org/abs/1804.08617).

For continuous actions in [-1, 1]. The critic knows returns between `vmin` and
`vmax`, which must span those of the environment.
"""

import dataclasses

import compat  # noqa: F401

from acme import specs
from acme.agents.jax import d4pg

from programs.agents import AgentParts, actions


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of D4PG.

  Attributes:
    hidden_layer_sizes: of the policy's and the critic's networks.
    learning_rate: of Adam, for policy and critic.
    batch_size: transitions a gradient step.
    discount: of future rewards.
    sigma: standard deviation of the actors' noise.
    vmin: the least discounted return that the critic can tell.
    vmax: the greatest.
    num_atoms: values in between that it tells apart.
    target_update_period: gradient steps between updates of the targets.
    gradient_steps_per_step: gradient steps for each environment step.
    min_replay_size: transitions in replay before learning starts.
    max_replay_size: transitions kept.
    n_step: rewards summed before bootstrapping.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  batch_size: int = 128
  discount: float = 0.99
  sigma: float = 0.3
  vmin: float = -1000.0
  vmax: float = 1000.0
  num_atoms: int = 101
  target_update_period: int = 100
  gradient_steps_per_step: float = 1.0
  min_replay_size: int = 1000
  max_replay_size: int = 1_000_000
  n_step: int = 5


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config | None = None
) -> AgentParts:
  """Returns D4PG's parts for an experiment.

  Raises:
    ValueError: the actions are not continuous within [-1, 1].
  """
  config = config or Config()
  actions.check_continuous('d4pg', environment_spec.actions)
  acme_config = d4pg.D4PGConfig(
    batch_size=config.batch_size,
    learning_rate=config.learning_rate,
    discount=config.discount,
    n_step=config.n_step,
    sigma=config.sigma,
    target_update_period=config.target_update_period,
    min_replay_size=config.min_replay_size,
    max_replay_size=config.max_replay_size,
    # Acme counts samples, not gradient steps, for each insert.
    samples_per_insert=config.batch_size * config.gradient_steps_per_step,
  )
  return AgentParts(
    builder=d4pg.D4PGBuilder(acme_config),
    network_factory=lambda spec: d4pg.make_networks(
      spec,
      config.hidden_layer_sizes,
      config.hidden_layer_sizes,
      config.vmin,
      config.vmax,
      config.num_atoms,
    ),
    policy_factory=lambda networks: d4pg.get_default_behavior_policy(
      networks, acme_config
    ),
    eval_policy_factory=d4pg.get_default_eval_policy,
  )
