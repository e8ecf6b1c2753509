"""D4PG (Barth-Maron et al., 2018, https://arxiv.org/abs/1804.08617).

For continuous actions in [-1, 1]. The critic represents returns between `vmin`
and `vmax`, so the environment's returns must be between them.
"""

import dataclasses

from programs.agents.shared import description, limits, off_policy


@dataclasses.dataclass(frozen=True)
class Config(off_policy.ActorCriticConfig):
  """Settings of D4PG.

  Attributes:
    sigma: standard deviation of the noise that actors add to their actions.
    vmin: the least discounted return that the critic can represent.
    vmax: the greatest discounted return that the critic can represent.
    num_atoms: number of atoms of the critic's distribution of returns, from
      `vmin` to `vmax`.
    target_update_period: gradient steps between updates of the targets.
  """

  n_step: limits.Count = 5
  sigma: limits.NonNegative = 0.3
  vmin: limits.Real = -1000.0
  vmax: limits.Real = 1000.0
  num_atoms: limits.Several = 101
  target_update_period: limits.Count = 100


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns D4PG's parts for an experiment."""
  from acme.agents.jax import d4pg

  from programs.agents.shared import packed_transitions

  acme_config = d4pg.D4PGConfig(
    **config.for_acme(),
    learning_rate=config.learning_rate,
    sigma=config.sigma,
    target_update_period=config.target_update_period,
  )
  return description.AgentParts(
    builder=packed_transitions.PackedTransitions(
      d4pg.D4PGBuilder(acme_config), environment_spec, acme_config
    ),
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


def check_config(config: Config) -> None:
  """Raises `ValueError` for settings that do not go together."""
  off_policy.check(config)
  if not config.vmin < config.vmax:
    raise ValueError(f'vmin={config.vmin} is not below vmax={config.vmax}')


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.CONTINUOUS,),
  observations=(
    description.Observations.VECTOR,
    description.Observations.NESTED,
  ),
  check_config=check_config,
)
