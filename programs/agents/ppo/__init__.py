"""PPO (Schulman et al., 2017, https://arxiv.org/abs/1707.06347).

On-policy, for discrete actions and for continuous ones in [-1, 1]. The queue
between actors and learner is short, and actors wait while it is full. So the
learner's batches come from recent weights.
"""

import dataclasses

from programs.agents.shared import description, limits


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of PPO.

  Attributes:
    hidden_layer_sizes: units in each hidden layer, the same for the policy's
      and for the value's network.
    learning_rate: step size of the optimizer, Adam.
    unroll_length: number of steps in a trajectory.
    batch_size: trajectories in the batch of a learner step.
    num_minibatches: number of parts that a batch is cut into.
    num_epochs: passes over a batch.
    discount: discount factor of each step.
    gae_lambda: lambda of generalised advantage estimation, from 0 to 1.
    clipping_epsilon: the ratio of new to old action probabilities is clipped
      to 1 plus or minus this.
    entropy_cost: weight of the policy's entropy in the loss.
    value_cost: weight of the value's error in the loss.
  """

  hidden_layer_sizes: limits.LayerSizes = (64, 64)
  learning_rate: limits.NonNegative = 3e-4
  unroll_length: limits.Count = 64
  batch_size: limits.Count = 16
  num_minibatches: limits.Count = 8
  num_epochs: limits.Count = 8
  discount: limits.Share = 0.99
  gae_lambda: limits.Share = 0.95
  clipping_epsilon: limits.NonNegative = 0.2
  entropy_cost: limits.NonNegative = 0.0
  value_cost: limits.NonNegative = 0.5


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns PPO's parts for an experiment."""
  from programs.agents.ppo import parts

  return parts.make(environment_spec, config)


def check_config(config: Config) -> None:
  """Raises `ValueError` for settings that do not go together."""
  steps = config.batch_size * config.unroll_length
  if steps % config.num_minibatches:
    raise ValueError(
      f'num_minibatches={config.num_minibatches} does not divide the {steps} '
      'steps of a batch (batch_size * unroll_length)'
    )


AGENT = description.Agent(
  Config,
  make_parts,
  actions=description.ANY_ACTIONS,
  observations=description.ANY_OBSERVATIONS,
  learns_from=description.LearnsFrom.ACTORS,
  check_config=check_config,
)
