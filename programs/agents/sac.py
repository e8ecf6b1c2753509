"""Soft Actor-Critic (Haarnoja et al., 2018, https://arxiv.org/abs/1812.05905).

For continuous actions in [-1, 1]: Acme's builder and networks, with settings
that solve Pendulum in about 7,000 steps.
"""

import dataclasses

import compat  # noqa: F401

from acme import specs
from acme.agents.jax import sac

from programs.agents import AgentParts, actions


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of SAC.

  Attributes:
    hidden_layer_sizes: of the policy's and the critics' networks.
    learning_rate: of Adam, for policy and critics.
    batch_size: transitions a gradient step.
    discount: of future rewards.
    tau: share of the critics' weights that their targets take up a step.
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
  gradient_steps_per_step: float = 1.0
  min_replay_size: int = 1000
  max_replay_size: int = 1_000_000
  n_step: int = 1


def make_agent(
  environment_spec: specs.EnvironmentSpec, config: Config | None = None
) -> AgentParts:
  """Returns SAC's parts for an experiment.

  Raises:
    ValueError: the actions are not continuous within [-1, 1].
  """
  config = config or Config()
  actions.check_continuous('sac', environment_spec.actions)
  return AgentParts(
    builder=sac.SACBuilder(_acme_config(config, environment_spec)),
    network_factory=lambda spec: sac.make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=lambda networks: sac.apply_policy_and_sample(networks),
    eval_policy_factory=lambda networks: sac.apply_policy_and_sample(
      networks, eval_mode=True
    ),
  )


def _acme_config(
  config: Config, environment_spec: specs.EnvironmentSpec
) -> sac.SACConfig:
  return sac.SACConfig(
    batch_size=config.batch_size,
    learning_rate=config.learning_rate,
    discount=config.discount,
    n_step=config.n_step,
    target_entropy=sac.target_entropy_from_env_spec(environment_spec),
    tau=config.tau,
    min_replay_size=config.min_replay_size,
    max_replay_size=config.max_replay_size,
    # Acme counts samples, not gradient steps, for each insert.
    samples_per_insert=config.batch_size * config.gradient_steps_per_step,
  )
