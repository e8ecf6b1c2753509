"""The tables of agents that pack their transitions are those of Acme."""

import pytest
from acme import specs

from programs import agents, environments


@pytest.mark.parametrize(
  ('name', 'env'),
  [
    ('sac', 'gym:Pendulum-v1'),
    ('td3', 'gym:Pendulum-v1'),
    ('d4pg', 'gym:Pendulum-v1'),
    ('dqn', 'gym:CartPole-v1'),
  ],
)
def test_only_the_signature_of_the_table_differs_from_acme(name, env):
  spec = specs.make_environment_spec(
    environments.make_environment_factory(env)(0)
  )
  agent = agents.find(name)
  packed = agent.make_parts(spec, agent.config_type()).builder
  (table,) = packed.make_replay_tables(spec, None)
  (acme,) = packed._builder.make_replay_tables(spec)
  assert _settings(table) == _settings(acme)


def _settings(table):
  info = table.info
  return (
    info.name,
    info.max_size,
    info.max_times_sampled,
    str(info.sampler_options),
    str(info.remover_options),
    str(info.rate_limiter_info),
  )
