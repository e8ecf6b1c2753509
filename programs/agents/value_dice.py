"""ValueDice (Kostrikov et al., 2020, https://arxiv.org/abs/1912.05032).

Imitates recorded episodes, for continuous actions in [-1, 1], without any
reward: it matches the distribution of states and actions.
"""

import compat  # noqa: F401

from acme import specs
from acme.agents.jax import value_dice

from programs.agents import AgentParts, configs
from programs.data import demonstrations as demonstrations_lib

Config = configs.ValueDice


def make_agent(
  environment_spec: specs.EnvironmentSpec,
  config: Config,
  demonstrations: demonstrations_lib.Demonstrations,
) -> AgentParts:
  """Returns ValueDice's parts for an experiment."""
  shared = config.for_acme()
  del shared['n_step']  # It learns from single transitions.
  acme_config = value_dice.ValueDiceConfig(
    **shared,
    policy_learning_rate=config.policy_learning_rate,
    nu_learning_rate=config.learning_rate,
    alpha=config.alpha,
    policy_reg_scale=config.policy_reg_scale,
    nu_reg_scale=config.nu_reg_scale,
  )
  return AgentParts(
    builder=value_dice.ValueDiceBuilder(
      acme_config,
      lambda size: demonstrations.batches(size, config.num_episodes),
    ),
    network_factory=lambda spec: value_dice.make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=value_dice.apply_policy_and_sample,
    eval_policy_factory=lambda networks: value_dice.apply_policy_and_sample(
      networks, eval_mode=True
    ),
  )
