"""IMPALA (Espeholt et al., 2018, https://arxiv.org/abs/1802.01561).

For discrete actions. Policy and value share an LSTM. Each sequence carries the
LSTM's state at its start. V-trace corrects for the age of the actors' weights.
"""

import dataclasses

from programs.agents.shared import description, limits


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of IMPALA.

  Attributes:
    hidden_layer_sizes: units in each layer before the LSTM, which is as wide as
      the last of them.
    learning_rate: step size of the optimizer, Adam.
    batch_size: sequences in the batch of a gradient step.
    sequence_length: number of steps in a sequence.
    discount: discount factor of each step.
    entropy_cost: weight of the policy's entropy in the loss.
    baseline_cost: weight of the value's error in the loss. With Acme's 0.5,
      the returns on CartPole stay at those of a random policy.
    max_gradient_norm: gradients with a greater norm are scaled down to it.
  """

  hidden_layer_sizes: limits.LayerSizes = (64, 64)
  learning_rate: limits.NonNegative = 1e-3
  batch_size: limits.Count = 4
  sequence_length: limits.Several = 20
  discount: limits.Share = 0.99
  entropy_cost: limits.NonNegative = 0.01
  baseline_cost: limits.NonNegative = 0.02
  max_gradient_norm: limits.Positive = 40.0


def make_parts(
  environment_spec: description.EnvironmentSpec, config: Config
) -> description.AgentParts:
  """Returns IMPALA's parts for an experiment."""
  from programs.agents.impala import parts

  return parts.make(environment_spec, config)


AGENT = description.Agent(
  Config,
  make_parts,
  actions=(description.Actions.DISCRETE,),
  observations=description.ANY_OBSERVATIONS,
  learns_from=description.LearnsFrom.ACTORS,
)
