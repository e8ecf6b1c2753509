"""D4PG (Barth-Maron et al., 2018, https://arxiv.org/abs/1804.08617).

For continuous actions in [-1, 1]. The critic knows returns between `vmin` and
`vmax`, which must span those of the environment.
"""

import compat  # noqa: F401

from acme import specs
from acme.agents.jax import d4pg

from programs.agents import AgentParts, configs

Config = configs.D4PG


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config
) -> AgentParts:
  """Returns D4PG's parts for an experiment."""
  acme_config = d4pg.D4PGConfig(
    **config.for_acme(),
    learning_rate=config.learning_rate,
    sigma=config.sigma,
    target_update_period=config.target_update_period,
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
