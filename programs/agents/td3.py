"""TD3 (Fujimoto et al., 2018, https://arxiv.org/abs/1802.09477).

For continuous actions in [-1, 1].
"""

import dataclasses

from programs.agents.shared import description, limits, off_policy


@dataclasses.dataclass(frozen=True)
class Config(off_policy.ActorCriticConfig):
  """Settings of TD3.

  Attributes:
    tau: how far the targets' weights move towards the learned ones at each
      gradient step, from 0 to 1.
    sigma: standard deviation of the noise that actors add to their actions.
    delay: number of the critics' gradient steps for each one of the policy.
  """

  tau: limits.Share = 0.005
  sigma: limits.NonNegative = 0.1
  delay: limits.Count = 2


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns TD3's parts for an experiment."""
  from acme.agents.jax import td3

  from programs.agents.shared import packed_transitions

  acme_config = td3.TD3Config(
    **config.for_acme(),
    policy_learning_rate=config.learning_rate,
    critic_learning_rate=config.learning_rate,
    sigma=config.sigma,
    delay=config.delay,
    tau=config.tau,
  )

  def make_policy(networks: td3.TD3Networks, sigma: float):
    return td3.get_default_behavior_policy(
      networks, environment_spec.actions, sigma
    )

  return description.AgentParts(
    builder=packed_transitions.PackedTransitions(
      td3.TD3Builder(acme_config), environment_spec, acme_config
    ),
    network_factory=lambda spec: td3.make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=lambda networks: make_policy(networks, config.sigma),
    eval_policy_factory=lambda networks: make_policy(networks, 0.0),
  )


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.CONTINUOUS,),
  observations=(description.Observations.VECTOR,),
  check_config=off_policy.check,
)
