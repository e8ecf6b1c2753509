"""Behavioural cloning of recorded episodes (Pomerleau, 1991).

https://doi.org/10.1162/neco.1991.3.1.88. For discrete actions, and for
continuous ones in [-1, 1]. It learns from a dataset alone, and has no actors.
"""

import dataclasses

from programs.agents.shared import description, limits


@dataclasses.dataclass(frozen=True)
class Config:
  """Settings of BC.

  Attributes:
    hidden_layer_sizes: units in each hidden layer of the policy's network.
    learning_rate: step size of the optimizer, Adam.
    batch_size: transitions in the batch of a gradient step.
    num_episodes: number of episodes to imitate: the last ones recorded.
  """

  hidden_layer_sizes: limits.LayerSizes = (64, 64)
  learning_rate: limits.NonNegative = 1e-3
  batch_size: limits.Count = 128
  num_episodes: limits.Count = 20


def make_parts(
  environment_spec: description.EnvironmentSpec,
  config: Config,
  demonstrations: description.Demonstrations,
) -> description.AgentParts:
  """Returns BC's parts for an experiment."""
  from programs.agents.bc import parts

  return parts.make(environment_spec, config)


def make_dataset(config: Config, demonstrations: description.Demonstrations):
  """Returns batches of the transitions to imitate."""
  return demonstrations.batches(config.batch_size, config.num_episodes)


AGENT = description.Agent(
  Config,
  make_parts,
  actions=description.ANY_ACTIONS,
  observations=description.ANY_OBSERVATIONS,
  learns_from=description.LearnsFrom.DEMONSTRATIONS,
  make_dataset=make_dataset,
)
