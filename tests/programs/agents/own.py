"""A user's own agent: DQN with another loss of Acme's."""

import dataclasses

import compat  # noqa: F401

from acme.agents.jax import dqn
from acme.agents.jax.dqn import losses

from programs.agents import dqn as dqn_lib


@dataclasses.dataclass(frozen=True)
class Config(dqn_lib.Config):
  entropy_temperature: float = 0.03


def make_parts(environment_spec, config):
  parts = dqn_lib.make_parts(environment_spec, config)
  loss = losses.MunchausenQLearning(
    entropy_temperature=config.entropy_temperature, discount=config.discount
  )
  builder = dqn.DQNBuilder(dqn_lib.make_acme_config(config), loss)
  return dataclasses.replace(parts, builder=builder)


AGENT = dataclasses.replace(
  dqn_lib.AGENT, config_type=Config, make_parts=make_parts
)
