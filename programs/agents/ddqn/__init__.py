"""Double Q-learning (https://arxiv.org/abs/1509.06461), for discrete actions.

Van Hasselt et al., 2015. To write your own agent, copy this one: `parts` has
all its parts, and this file describes it.
"""

import dataclasses

from programs.agents.shared import description, limits, off_policy


@dataclasses.dataclass(frozen=True)
class Config(off_policy.Config):
  """Settings of DDQN.

  Attributes:
    epsilon: probability that an actor takes a random action.
    target_update_period: gradient steps between updates of the target.
  """

  batch_size: limits.Count = 64
  min_replay_size: limits.Count = 500
  max_replay_size: limits.Count = 100_000
  n_step: limits.Count = 3
  epsilon: limits.Share = 0.05
  target_update_period: limits.Count = 100


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns DDQN's parts for an experiment."""
  from programs.agents.ddqn import parts

  return parts.make(environment_spec, config)


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.DISCRETE,),
  observations=description.ANY_OBSERVATIONS,
  check_config=off_policy.check,
)
