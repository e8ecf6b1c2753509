"""Settings outside their limits are refused in one sentence that names them."""

import dataclasses

import pytest

from programs import agents
from programs.agents import sac
from programs.agents.shared import limits, overrides


@pytest.mark.parametrize('agent', agents.AGENTS)
def test_the_defaults_are_within_the_limits(agent):
  agents.make_config(agent)


@pytest.mark.parametrize(
  'agent, settings, message',
  [
    (
      'r2d2',
      'min_replay_size=2',
      'min_replay_size=2 .*samples_per_insert.* 10',
    ),
    (
      'r2d2',
      'samples_per_insert=0.1,min_replay_size=99',
      'min_replay_size=99 .* give it 100 or more',
    ),
    (
      'sac',
      'min_replay_size=9',
      'min_replay_size=9 .* batch_size=128 and gradient_steps_per_step=1.0',
    ),
    (
      'dqn',
      'min_replay_size=50,max_replay_size=49',
      'min_replay_size=50 is above max_replay_size=49',
    ),
    ('td3', 'max_replay_size=999', 'min_replay_size=1000 is above'),
    ('ail', 'gradient_steps_per_step=0', 'gradient_steps_per_step=0.0 is not'),
    ('ddqn', 'learning_rate=-0.1', 'learning_rate=-0.1 is below 0'),
    ('ddqn', 'discount=1.5', 'discount=1.5 is not between'),
    ('value_dice', 'alpha=-1', 'alpha=-1.0 is not between'),
    ('sac', 'hidden_layer_sizes=()', r'hidden_layer_sizes=\(\)'),
    ('bc', 'hidden_layer_sizes=(8, 0)', r'hidden_layer_sizes=\(8, 0\)'),
    ('r2d2', 'sequence_period=14', 'sequence_period=14 is above the 13 steps'),
    ('impala', 'sequence_length=1', 'sequence_length=1'),
    ('ppo', 'num_minibatches=7', 'num_minibatches=7 does not divide the 1024'),
    ('ppo', 'batch_size=0', 'batch_size'),
    ('d4pg', 'vmin=5,vmax=5', 'vmin=5.0 is not below vmax=5.0'),
    ('sac', f'max_replay_size={2**31}', 'max_replay_size=2147483648 is too'),
    ('sac', 'learning_rate=1e39', r'learning_rate=1e\+39 is too great'),
    ('d4pg', 'num_atoms=1', 'num_atoms=1'),
  ],
)
def test_settings_outside_their_limits_are_refused(agent, settings, message):
  with pytest.raises(ValueError, match=message) as caught:
    agents.make_config(agent, settings)
  assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
  'agent, settings',
  [
    ('r2d2', 'min_replay_size=10'),
    ('r2d2', 'sequence_period=13,burn_in_length=2,trace_length=10'),
    ('r2d2', 'samples_per_insert=0,min_replay_size=1'),
    ('sac', 'min_replay_size=10,max_replay_size=10'),
    ('sac', 'min_replay_size=10,batch_size=7,gradient_steps_per_step=0.3'),
    ('d4pg', 'vmin=-9'),
  ],
)
def test_settings_at_their_limits_are_taken(agent, settings):
  agents.make_config(agent, settings)


@dataclasses.dataclass(frozen=True)
class _PlainConfig(sac.Config):
  tau: float = 0.01


@dataclasses.dataclass(frozen=True)
class _WiderConfig(_PlainConfig):
  tau: limits.NonNegative = 0.01


@dataclasses.dataclass(frozen=True)
class _OptionalConfig(sac.Config):
  tau: float | None = None


def test_a_plain_annotation_keeps_the_limit_of_the_base_class():
  config = overrides.apply(_PlainConfig(), 'tau=7')
  with pytest.raises(ValueError, match='tau=7.0 is not between 0 and 1'):
    limits.check(config)


@pytest.mark.parametrize('config', [_WiderConfig(tau=7.0), _OptionalConfig()])
def test_a_limit_or_another_type_in_a_subclass_replaces_the_limit(config):
  limits.check(config)
