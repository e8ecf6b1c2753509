"""An error in own code is shown with its traceback, not as a wrong flag."""

import sys

import compat  # noqa: F401

import numpy as np
import pytest
from absl.testing import flagsaver

from cli import (
  command,
  launching,
  settings,
  training_flags,  # noqa: F401  Defined before they are saved.
)
from policies import play
from programs import agents, environments, own_modules

_ENVIRONMENT = """
import os
import sys
import gymnasium
from gymnasium import spaces

WHERE = os.environ.get('WHERE')

def fail(where):
  if WHERE == where:
    {statement}

fail('import')

class Env(gymnasium.Env):
  action_space = spaces.Discrete(2)

  def __init__(self):
    fail('constructor')

  @property
  def observation_space(self):
    fail('space')
    return spaces.Box(-1, 1, (2,))

  def reset(self, *, seed=None, options=None):
    fail('reset')
    return self.observation_space.sample(), {{}}

  def step(self, action):
    fail('step')
    return self.observation_space.sample(), 1.0, False, False, {{}}

  def close(self):
    fail('close')
"""
_AGENT = """
import dataclasses
import os
import sys
from programs.agents import ddqn
from programs.agents.ddqn import parts as ddqn_parts
from programs.agents.shared import description

WHERE = os.environ.get('WHERE')

def fail(where):
  if WHERE == where:
    {statement}

fail('import')

@dataclasses.dataclass(frozen=True)
class Config(ddqn.Config):
  mine: int = dataclasses.field(default_factory=lambda: fail('default') or 1)

  def __post_init__(self):
    fail('config')

class Builder(ddqn_parts.Builder):
  def make_replay_tables(self, environment_spec, policy):
    fail('tables')
    return super().make_replay_tables(environment_spec, policy)

def make_parts(environment_spec, config):
  fail('make_parts')
  parts = ddqn.make_parts(environment_spec, config)
  return dataclasses.replace(parts, builder=Builder(environment_spec, config))

AGENT = description.Agent(Config, make_parts)
"""
_STATEMENTS = {
  'ValueError': "raise ValueError('mine')",
  'SystemExit': 'sys.exit(3)',
  'ImportError': 'import no_such_package_here',
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
  """Yields a function that runs a training command until a run would begin."""
  monkeypatch.syspath_prepend(tmp_path)
  monkeypatch.setattr(
    launching.Launch,
    'run',
    lambda self, watch: self.settings.make_program(self.run_dir) and 0,
  )

  def main(text, where, *argv):
    (tmp_path / 'mine.py').write_text(text)
    sys.modules.pop('mine', None)
    monkeypatch.setenv('WHERE', where)
    with flagsaver.flagsaver():
      flag = f'--run_dir={tmp_path / "run"}'
      code = command.run(command.parse(['launch.py', flag, *argv]))
    return code, capsys.readouterr().err

  yield main
  sys.modules.pop('mine', None)


@pytest.mark.parametrize('kind', _STATEMENTS)
@pytest.mark.parametrize(
  'where', ['import', 'constructor', 'space', 'reset', 'step', 'close']
)
def test_an_environment_that_raises_is_shown(run, tmp_path, where, kind):
  text = _ENVIRONMENT.format(statement=_STATEMENTS[kind])
  argv = ['--env=module:mine:Env', '--agent=dqn']
  code, error = run(text, where, *argv)
  assert code == 1, error
  _check_traceback(error, kind, tmp_path)
  assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize('kind', _STATEMENTS)
@pytest.mark.parametrize(
  'where', ['import', 'default', 'config', 'make_parts', 'tables']
)
def test_an_agent_that_raises_is_shown(run, tmp_path, where, kind):
  text = _AGENT.format(statement=_STATEMENTS[kind])
  argv = ['--env=gym:CartPole-v1', '--agent=module:mine', '--config=mine=2']
  code, error = run(text, where, *argv)
  assert code == 1, error
  _check_traceback(error, kind, tmp_path)


def test_the_text_of_ones_own_error_is_escaped_for_the_terminal(run):
  text = _ENVIRONMENT.format(statement="raise ValueError('\\x1b]0;mine\\x07')")
  code, error = run(text, 'reset', '--env=module:mine:Env', '--agent=dqn')
  assert code == 1
  assert r'ValueError: \x1b]0;mine\x07' in error
  assert '\x1b' not in error


def _check_traceback(error, kind, folder):
  lines = error.splitlines()
  assert lines[0] == 'Traceback (most recent call last):'
  # The traceback begins in the own code.
  assert lines[1].startswith(f'  File "{folder}/mine.py"'), error
  kind = 'ModuleNotFoundError' if kind == 'ImportError' else kind
  assert lines[-2].startswith(f'{kind}: '), error
  assert lines[-1].startswith('launch.py: ')


def test_a_module_with_a_syntax_error_is_shown(run, tmp_path):
  code, error = run('x = 1\ny = (', '', '--env=module:mine:Env')
  assert code == 1
  assert error.startswith(f'  File "{tmp_path}/mine.py", line 2'), error
  assert 'SyntaxError: ' in error


_REGISTERED = """
import gymnasium
gymnasium.register('Mine-v0', entry_point='mine:Env')
"""


@pytest.mark.parametrize('kind', _STATEMENTS)
def test_an_environment_that_is_registered_and_raises_is_shown(
  run, tmp_path, kind
):
  text = _ENVIRONMENT.format(statement=_STATEMENTS[kind]) + _REGISTERED
  argv = ['--env=gym:mine:Mine-v0', '--agent=dqn']
  code, error = run(text, 'constructor', *argv)
  assert code == 1, error
  _check_traceback(error, kind, tmp_path)


def test_an_agent_that_does_not_raise_runs(run):
  text = _AGENT.format(statement='pass')
  argv = ['--env=gym:CartPole-v1', '--agent=module:mine', '--config=mine=2']
  assert run(text, '', *argv) == (0, '')


@pytest.mark.parametrize(
  'argv, message',
  [
    (['--env=module:mime:Env'], 'no module mime here'),
    (['--env=module:mine.deeper:Env'], 'mine.deeper cannot be imported'),
    (['--env=module:mine:Ent'], 'has no function Ent'),
    (['--agent=module:mime'], 'no module mime here'),
    (['--agent=module:mine'], 'mine has no AGENT'),
    (['--env=gym:mime:Mine-v0'], 'no module mime here'),
    (['--env=gym:Ant-v2'], 'gym:Ant-v2 cannot be made'),
    (['--env=gym:Nope-v0'], 'nearest'),
  ],
)
def test_a_name_that_means_nothing_is_a_wrong_flag(run, argv, message):
  code, error = run(_ENVIRONMENT.format(statement='pass'), '', *argv)
  assert code == 2, error
  assert message in error
  assert error.count('\n') == 1


def test_an_observation_that_does_not_fit_its_space_is_one_sentence(run):
  text = _ENVIRONMENT.format(statement='pass').replace('sample()', 'low[:1]')
  code, error = run(text, '', '--env=module:mine:Env', '--agent=dqn')
  assert code == 2, error
  assert error.startswith('launch.py: --env: the observation has shape (1,)')
  assert error.count('\n') == 1


class _Policy:
  """A policy that always takes action 0."""

  def reset(self):
    pass

  def __call__(self, observation):
    return np.int32(0)


@pytest.mark.parametrize('where', ['constructor', 'reset', 'step'])
def test_an_error_while_a_policy_is_played_is_no_wrong_flag(
  tmp_path, monkeypatch, where
):
  monkeypatch.syspath_prepend(tmp_path)
  monkeypatch.setenv('WHERE', where)
  monkeypatch.setattr(play.policy, 'load', lambda path: _Policy())
  text = _ENVIRONMENT.format(statement="raise ValueError('mine')")
  (tmp_path / f'played_{where}.py').write_text(text)
  name = f'module:played_{where}:Env'
  with pytest.raises(own_modules.OwnCodeError, match='ValueError: mine'):
    next(play.play(tmp_path, name, 0, 1))


def test_a_slow_environment_is_named(run, monkeypatch):
  monkeypatch.setattr(settings, '_SLOW_SECONDS', 0.0)
  text = _ENVIRONMENT.format(statement='__import__("time").sleep(0.2)')
  code, error = run(text, 'reset', '--env=module:mine:Env', '--agent=dqn')
  expected = 'waiting for the first step of --env=module:mine:Env'
  assert (code, error) == (0, f'launch.py: {expected}\n')


def test_ctrl_c_in_ones_own_code_goes_through():
  with pytest.raises(KeyboardInterrupt), own_modules.own_code('it'):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
  'config, setting',
  [
    ('min_replay_size=2', 'min_replay_size=2'),
    ('min_replay_size=200,max_replay_size=100', 'max_replay_size=100'),
    ('batch_size=0', 'batch_size'),
  ],
)
def test_settings_of_ones_own_agent_that_reverb_refuses_are_a_wrong_flag(
  run, config, setting
):
  text = _AGENT.format(statement='pass')
  argv = ['--env=gym:CartPole-v1', '--agent=module:mine', f'--config={config}']
  code, error = run(text, '', *argv)
  assert code == 2, error
  assert error.startswith('launch.py: --config: ')
  assert error.count('\n') == 1
  assert setting in error


def test_a_module_that_imports_a_missing_one_is_no_wrong_flag(
  tmp_path, monkeypatch
):
  (tmp_path / 'lacking.py').write_text('import lacking_too')
  monkeypatch.syspath_prepend(tmp_path)
  for load in (
    lambda: own_modules.load('lacking'),
    lambda: environments.check_environment('gym:lacking:Mine-v0'),
    lambda: environments.check_environment('module:lacking:Mine'),
    lambda: agents.make_config('module:lacking'),
  ):
    with pytest.raises(own_modules.OwnCodeError, match='lacking_too'):
      load()
