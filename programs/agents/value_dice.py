"""ValueDice (Kostrikov et al., 2020, https://arxiv.org/abs/1912.05032).

Imitates recorded episodes without any reward: it matches their distribution of
states and actions. For continuous actions in [-1, 1].
"""

import dataclasses

from programs.agents.shared import description, limits, off_policy


@dataclasses.dataclass(frozen=True)
class Config(off_policy.Config):
  """Settings of ValueDice, whose `learning_rate` is its critic's.

  Attributes:
    policy_learning_rate: step size of the policy's optimizer, Adam.
    alpha: share of the replay in the mixture with the demonstrations.
    policy_reg_scale: weight of the policy's orthogonal regularisation.
    nu_reg_scale: weight of the critic's gradient penalty.
    num_episodes: number of episodes to imitate: the last ones recorded.
  """

  policy_learning_rate: limits.NonNegative = 1e-4
  alpha: limits.Share = 0.05
  policy_reg_scale: limits.NonNegative = 1e-4
  nu_reg_scale: limits.NonNegative = 10.0
  num_episodes: limits.Count = 20


def make_parts(
  environment_spec: description.EnvironmentSpec,
  config: Config,
  demonstrations: description.Demonstrations,
) -> description.AgentParts:
  """Returns ValueDice's parts for an experiment."""
  from acme.agents.jax import value_dice

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
  return description.AgentParts(
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


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.CONTINUOUS,),
  observations=(description.Observations.VECTOR,),
  learns_from=description.LearnsFrom.ACTORS_AND_DEMONSTRATIONS,
  check_config=off_policy.check,
)
