"""TD3 (Fujimoto et al., 2018, https://arxiv.org/abs/1802.09477).

For continuous actions in [-1, 1].
"""

import dataclasses

import compat  # noqa: F401

from acme import specs
from acme.agents.jax import td3

from programs.agents import AgentParts, actions


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of TD3.

  Attributes:
    hidden_layer_sizes: of the policy's and the critics' networks.
    learning_rate: of Adam, for policy and critics.
    batch_size: transitions a gradient step.
    discount: of future rewards.
    tau: share of the weights that the targets take up a step.
    sigma: standard deviation of the actors' noise.
    delay: gradient steps of the critics for one of the policy.
    gradient_steps_per_step: gradient steps for each environment step.
    min_replay_size: transitions in replay before learning starts.
    max_replay_size: transitions kept.
    n_step: rewards summed before bootstrapping.
  """

  hidden_layer_sizes: tuple[int, ...] = (64, 64)
  learning_rate: float = 1e-3
  batch_size: int = 128
  discount: float = 0.99
  tau: float = 0.005
  sigma: float = 0.1
  delay: int = 2
  gradient_steps_per_step: float = 1.0
  min_replay_size: int = 1000
  max_replay_size: int = 1_000_000
  n_step: int = 1


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config | None = None
) -> AgentParts:
  """Returns TD3's parts for an experiment.

  Raises:
    ValueError: the actions are not continuous within [-1, 1].
  """
  config = config or Config()
  actions.check_continuous('td3', environment_spec.actions)
  acme_config = td3.TD3Config(
    batch_size=config.batch_size,
    policy_learning_rate=config.learning_rate,
    critic_learning_rate=config.learning_rate,
    discount=config.discount,
    n_step=config.n_step,
    sigma=config.sigma,
    delay=config.delay,
    tau=config.tau,
    min_replay_size=config.min_replay_size,
    max_replay_size=config.max_replay_size,
    # Acme counts samples, not gradient steps, for each insert.
    samples_per_insert=config.batch_size * config.gradient_steps_per_step,
  )

  def policy(networks: td3.TD3Networks, sigma: float):
    return td3.get_default_behavior_policy(
      networks, environment_spec.actions, sigma
    )

  return AgentParts(
    builder=td3.TD3Builder(acme_config),
    network_factory=lambda spec: td3.make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=lambda networks: policy(networks, config.sigma),
    eval_policy_factory=lambda networks: policy(networks, 0.0),
  )
