"""Agents refuse environments and programs that they cannot learn in."""

import numpy as np
import pytest
from acme import specs

from programs import agents
from programs.agents import listing

_CONTINUOUS = specs.BoundedArray((2,), np.float32, -1, 1)
_WIDE = specs.BoundedArray((2,), np.float32, -2, 2)
_DISCRETE = specs.DiscreteArray(3)
_SEVERAL_DISCRETE = specs.BoundedArray((2,), np.int32, 0, 3)


@pytest.mark.parametrize(
  'agent, actions, others',
  [
    ('sac', _DISCRETE, 'ppo, dqn, ddqn, impala, r2d2, bc'),
    ('td3', _WIDE, 'none'),
    ('d4pg', _SEVERAL_DISCRETE, 'none'),
    ('ppo', _SEVERAL_DISCRETE, 'none'),
    ('dqn', _CONTINUOUS, 'sac, td3, d4pg, ppo, bc, value_dice, ail'),
    ('impala', _CONTINUOUS, 'sac, td3, d4pg, ppo, bc, value_dice, ail'),
    ('r2d2', _SEVERAL_DISCRETE, 'none'),
  ],
)
def test_actions_that_an_agent_cannot_take_are_refused(agent, actions, others):
  spec = specs.EnvironmentSpec(
    specs.Array((3,), np.float32),
    actions,
    specs.Array((), np.float32),
    specs.BoundedArray((), np.float32, 0, 1),
  )
  with pytest.raises(ValueError, match=f'^{agent} takes .*: {others}$'):
    agents.make_parts(agent, spec)


@pytest.mark.parametrize(
  'agent, observations, others',
  [
    ('sac', specs.Array((96, 96, 3), np.uint8), 'ppo, bc'),
    ('td3', {'a': specs.Array((2,), np.float32)}, 'd4pg, ppo, bc'),
    ('ail', specs.Array((), np.float32), 'ppo, bc'),
  ],
)
def test_observations_that_an_agent_cannot_take_are_refused(
  agent, observations, others
):
  spec = specs.EnvironmentSpec(
    observations,
    _CONTINUOUS,
    specs.Array((), np.float32),
    specs.BoundedArray((), np.float32, 0, 1),
  )
  with pytest.raises(
    ValueError, match=f'^{agent} takes vector obs.*: {others}$'
  ):
    agents.make_parts(agent, spec)


@pytest.mark.parametrize(
  'actions, expected',
  [
    (specs.Array((2, 3), np.float32), r'float32\[2, 3\] without bounds'),
    (
      specs.BoundedArray((99,), np.float32, -1, np.arange(99)),
      r'float32\[99\] in \[-1, 98\]',
    ),
    (
      {'a': (_DISCRETE, _DISCRETE)},
      r'{a: \(a choice among 3, a choice .* 3\)}',
    ),
  ],
)
def test_a_refusal_describes_the_environments_actions(actions, expected):
  reward = specs.Array((), np.float32)
  spec = specs.EnvironmentSpec(reward, actions, reward, reward)
  with pytest.raises(ValueError, match=f'this environment has {expected};'):
    agents.make_parts('sac', spec)


@pytest.mark.parametrize('shape', [(2,), (1,)])
def test_rewards_of_several_numbers_are_refused(shape):
  reward = specs.Array(shape, np.float32)
  observation = specs.Array((3,), np.float32)
  spec = specs.EnvironmentSpec(observation, _CONTINUOUS, reward, reward)
  with pytest.raises(ValueError, match='sac takes one number as rewards'):
    agents.make_parts('sac', spec)


@pytest.mark.parametrize(
  'agent, program, has_demonstrations, expected',
  [
    ('bc', 'distributed', True, '--program=offline'),
    ('bc', 'offline', False, '--demonstrations'),
    ('ail', 'distributed', False, '--demonstrations'),
    ('sac', 'offline', False, '--demonstrations'),
    ('sac', 'distributed', True, 'leave out --demonstrations'),
    ('ppo', 'offline', True, 'leave out --program'),
  ],
)
def test_programs_that_do_not_fit_are_refused(
  agent, program, has_demonstrations, expected
):
  with pytest.raises(ValueError, match=expected):
    agents.check_program(agent, program, has_demonstrations)


def test_the_table_has_a_line_for_each_agent():
  lines = listing.text().splitlines()[1:]
  assert [line.split()[0] for line in lines] == list(agents.AGENTS)


@pytest.mark.parametrize(
  'agent, expected',
  [
    ('dqm', 'known: sac, .*module:PACKAGE.MODULE'),
    ('module:no_such_module', 'cannot be imported'),
    ('module:json', 'has no AGENT'),
    ('module:.json', 'cannot be imported'),
    ('module:no_dataclass', 'config_type is not a dataclass'),
    ('module:no_default', 'needs a default'),
  ],
)
def test_a_name_without_an_agent_is_refused(
  agent, expected, tmp_path, monkeypatch
):
  for name, text in {
    'no_dataclass': """
from programs.agents.shared import description
AGENT = description.Agent(dict, print)
""",
    'no_default': """
import dataclasses
from programs.agents.shared import description

@dataclasses.dataclass
class Config:
  rate: float

AGENT = description.Agent(Config, print)
""",
  }.items():
    (tmp_path / f'{name}.py').write_text(text)
  monkeypatch.syspath_prepend(tmp_path)
  with pytest.raises(ValueError, match=expected):
    agents.make_config(agent)


def test_ones_own_agent_has_its_own_settings():
  name = 'module:tests.programs.agents.own'
  config = agents.make_config(name, 'entropy_temperature=0.1,batch_size=8')
  assert (config.entropy_temperature, config.batch_size) == (0.1, 8)
  with pytest.raises(ValueError, match='nearest is .entropy_temperature'):
    agents.make_config(name, 'entropy_temp=0.1')


def test_ones_own_agent_is_checked_as_others_are():
  name = 'module:tests.programs.agents.own'
  reward = specs.Array((), np.float32)
  spec = specs.EnvironmentSpec(reward, _CONTINUOUS, reward, reward)
  with pytest.raises(ValueError, match=f'^{name} takes discrete actions'):
    agents.make_parts(name, spec)
  with pytest.raises(ValueError, match='leave out --demonstrations'):
    agents.check_program(name, 'distributed', True)
  with pytest.raises(ValueError, match='min_replay_size=9 is too small'):
    agents.make_config(name, 'min_replay_size=9')


def test_an_agent_that_returns_no_parts_is_refused(tmp_path, monkeypatch):
  (tmp_path / 'makes_none.py').write_text("""
import dataclasses
from programs.agents.shared import description
Config = dataclasses.make_dataclass('Config', [])
AGENT = description.Agent(Config, lambda spec, config: None)
""")
  monkeypatch.syspath_prepend(tmp_path)
  with pytest.raises(ValueError, match='returned a NoneType'):
    agents.make_parts('module:makes_none', None)
  with pytest.raises(ValueError, match='has no settings'):
    agents.make_config('module:makes_none', 'a=1')
