"""Soft Actor-Critic (Haarnoja et al., 2018, https://arxiv.org/abs/1812.05905).

For continuous actions in [-1, 1]. The builder and the networks are Acme's. With
the default settings it solves Pendulum in about 7,000 steps.
"""

import dataclasses

from programs.agents.shared import description, limits, off_policy


@dataclasses.dataclass(frozen=True)
class Config(off_policy.ActorCriticConfig):
  """Settings of SAC.

  Attributes:
    tau: how far the targets' weights move towards the learned ones at each
      gradient step, from 0 to 1.
  """

  tau: limits.Share = 0.005


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns SAC's parts for an experiment."""
  from acme.agents.jax import sac

  from programs.agents.shared import packed_transitions

  acme_config = make_acme_config(environment_spec, config)
  return description.AgentParts(
    builder=packed_transitions.PackedTransitions(
      sac.SACBuilder(acme_config), environment_spec, acme_config
    ),
    network_factory=lambda spec: sac.make_networks(
      spec, config.hidden_layer_sizes
    ),
    policy_factory=lambda networks: sac.apply_policy_and_sample(networks),
    eval_policy_factory=lambda networks: sac.apply_policy_and_sample(
      networks, eval_mode=True
    ),
  )


def make_acme_config(
  environment_spec: description.EnvironmentSpec, config: description.Config
):
  """Returns the `acme.agents.jax.sac.SACConfig` of SAC's builder.

  Args:
    environment_spec: the spec of all actors' environments.
    config: the settings of SAC, or of another agent that learns by it.
  """
  from acme.agents.jax import sac

  return sac.SACConfig(
    **config.for_acme(),
    learning_rate=config.learning_rate,
    target_entropy=sac.target_entropy_from_env_spec(environment_spec),
    tau=config.tau,
  )


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.CONTINUOUS,),
  observations=(description.Observations.VECTOR,),
  check_config=off_policy.check,
)
