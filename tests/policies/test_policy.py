"""An exported policy acts as the evaluator did, without the other packages."""

import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import dm_env
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acme import core, specs

from policies import export, policy
from tests.policies import kept as policies

_ROOT = pathlib.Path(__file__).parents[2]

# A program that loads a policy and acts on given observations. It can import
# only JAX, NumPy and safetensors.
_ELSEWHERE = """
import sys

ABSENT = {
  'acme', 'backends', 'cli', 'compat', 'container', 'flatbuffers', 'haiku',
  'launchpad', 'nodes', 'programs', 'reporting', 'reverb', 'rpc', 'run_files',
  'system', 'tensorflow', 'watchdog',
}

class Absent:
  def find_spec(self, name, path=None, target=None):
    if name.partition('.')[0] in ABSENT:
      raise ModuleNotFoundError(f'{name} cannot be imported here')

sys.meta_path.insert(0, Absent())

import numpy as np
from policies import policy

act = policy.load(sys.argv[1])
played = np.load(sys.argv[2])
actions = []
for step, observation in enumerate(played['observations']):
  if step in played['begins']:
    act.reset()
  actions.append(act(observation))
np.save(sys.argv[3], np.asarray(actions))
"""


def _play_elsewhere(kept: policies.Kept, tmp_path) -> np.ndarray:
  """Returns the loaded policy's actions for the observations in `kept`."""
  moved = tmp_path / 'elsewhere' / 'kept'
  shutil.copytree(kept.path, moved)
  np.savez(
    tmp_path / 'played.npz', observations=kept.observations, begins=kept.begins
  )
  result = subprocess.run(
    [sys.executable, '-c', _ELSEWHERE, moved, 'played.npz', 'actions.npy'],
    cwd=tmp_path,
    env={**os.environ, 'PYTHONPATH': str(_ROOT)},
    capture_output=True,
    text=True,
    timeout=120,
  )
  assert result.returncode == 0, result.stderr
  return np.load(tmp_path / 'actions.npy')


@pytest.mark.parametrize(
  'agent, env',
  [
    ('sac', 'gym:Pendulum-v1'),
    ('dqn', 'gym:CartPole-v1'),
    ('ddqn', 'gym:CartPole-v1'),
    ('r2d2', 'bsuite:catch/0'),
    ('impala', 'bsuite:catch/0'),
    ('ppo', 'gym:CartPole-v1'),
  ],
)
def test_plays_exactly_as_the_evaluator(agent, env, tmp_path):
  kept = policies.keep(agent, env, tmp_path / 'policy')
  actions = _play_elsewhere(kept, tmp_path)
  assert actions.dtype == kept.actions.dtype
  np.testing.assert_array_equal(actions, kept.actions)


@pytest.fixture(scope='module')
def recurrent(tmp_path_factory) -> policies.Kept:
  path = tmp_path_factory.mktemp('recurrent') / 'policy'
  return policies.keep('impala', 'bsuite:catch/0', path, num_episodes=10)


def _episodes(act: policy.Policy, kept: policies.Kept) -> np.ndarray:
  actions = []
  for step, observation in enumerate(kept.observations):
    if step in kept.begins:
      act.reset()
    actions.append(act(observation))
  return np.asarray(actions)


def test_a_seed_gives_other_actions_and_the_same_again(recurrent):
  first, again = (
    _episodes(policy.load(recurrent.path, seed=7), recurrent) for _ in range(2)
  )
  np.testing.assert_array_equal(first, again)
  assert (first != recurrent.actions).any()


def test_the_specs_are_shown(recurrent):
  specs_told = policy.load(recurrent.path).specs
  assert specs_told['observation']['array']['shape'] == [10, 5]
  assert specs_told['action']['array']['num_values'] == 3


@pytest.mark.parametrize(
  'observation, expected',
  [
    (np.zeros((5, 10), np.float32), r'shape \[10, 5\], got \[5, 10\]'),
    (np.zeros((10, 5), complex), 'float32, got complex128'),
  ],
)
def test_another_observation_is_refused(recurrent, observation, expected):
  with pytest.raises(ValueError, match=f'^observation: expected {expected}$'):
    policy.load(recurrent.path)(observation)


def test_an_observation_that_float32_does_not_hold_is_refused(recurrent):
  act = policy.load(recurrent.path)
  observation = np.zeros((10, 5))
  observation[0, 0] = 1e300
  with pytest.raises(ValueError, match='^observation: float32 .* 1e.300$'):
    act(observation)


def _named(mapping) -> dict:
  """Returns a mapping whose keys are not in alphabetical order."""
  return mapping(
    z=np.array([0.1, -0.2], np.float32),
    a=(np.float32(0.5), np.array([4], np.int32)),
  )


@pytest.mark.parametrize('mapping', [dict, collections.OrderedDict])
def test_observations_may_be_nests(mapping, tmp_path):
  config = policies.make_experiment('ppo', 'gym:Pendulum-v1')
  observation = _named(mapping)
  config = dataclasses.replace(
    config,
    environment_spec=config.environment_spec._replace(
      observations=jax.tree_util.tree_map(
        lambda x: specs.Array(x.shape, x.dtype), observation
      )
    ),
  )
  learner = policies.make_learner(config)
  export.export(config, learner, tmp_path / 'policy')
  actor = export.make_actor(config, learner)
  actor.observe_first(dm_env.restart(observation))
  act = policy.load(tmp_path / 'policy')
  action = act(dict(reversed(observation.items())))
  np.testing.assert_array_equal(action, actor.select_action(observation))
  with pytest.raises(ValueError, match='^observation is not a dict of '):
    act({'a': observation['a']})


class _Bfloat16Source(core.VariableSource):
  def __init__(self, learner):
    self._learner = learner

  def get_variables(self, names):
    return jax.tree_util.tree_map(
      lambda x: x.astype(jnp.bfloat16), self._learner.get_variables(names)
    )


def test_parameters_may_be_of_bfloat16(tmp_path):
  config = policies.make_experiment('ppo', 'gym:Pendulum-v1')
  source = _Bfloat16Source(policies.make_learner(config))
  export.export(config, source, tmp_path / 'policy')
  actor = export.make_actor(config, source)
  observation = np.array([0.6, 0.8, -1.0], np.float32)
  actor.observe_first(dm_env.restart(observation))
  act = policy.load(tmp_path / 'policy')
  np.testing.assert_array_equal(
    act(observation), actor.select_action(observation)
  )


@pytest.fixture
def copy(recurrent, tmp_path) -> pathlib.Path:
  return shutil.copytree(recurrent.path, tmp_path / 'copy')


@pytest.mark.parametrize('name', [policy.PARAMETERS, policy.ACT])
def test_a_torn_folder_is_refused(copy, name):
  content = (copy / name).read_bytes()
  (copy / name).write_bytes(content[: len(content) // 2])
  with pytest.raises(policy.PolicyError, match=f'{name} is torn: .* again$'):
    policy.load(copy)
  (copy / name).unlink()
  with pytest.raises(policy.PolicyError, match=f'{name} is missing: .* again$'):
    policy.load(copy)


def test_a_torn_description_is_refused(copy):
  path = copy / policy.DESCRIPTION
  path.write_text(path.read_text()[:100])
  with pytest.raises(policy.PolicyError, match='torn; export again$'):
    policy.load(copy)


def test_a_foreign_folder_is_refused(tmp_path):
  with pytest.raises(policy.PolicyError, match='holds no policy'):
    policy.load(tmp_path)
  (tmp_path / policy.DESCRIPTION).write_text('{"format": "other 3"}')
  with pytest.raises(policy.PolicyError, match="says format 'other 3'"):
    policy.load(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
  with pytest.raises(FileNotFoundError, match=f'no folder {tmp_path}/none;'):
    policy.load(tmp_path / 'none')


def test_a_function_that_this_jax_cannot_take_names_its_release(
  copy,
):
  code = b'of another release'
  (copy / policy.ACT).write_bytes(code)
  path = copy / policy.DESCRIPTION
  description = json.loads(path.read_text())
  description['sha256'][policy.ACT] = hashlib.sha256(code).hexdigest()
  path.write_text(json.dumps(description))
  with pytest.raises(policy.PolicyError, match=f'jax=={jax.__version__}$'):
    policy.load(copy)


class _OwnActor(core.Actor):
  def select_action(self, observation):
    return 0

  def observe_first(self, timestep):
    pass

  def observe(self, action, next_timestep):
    pass

  def update(self, wait=False):
    pass


class _OwnBuilder:
  def make_actor(self, random_key, policy, environment_spec, variable_source):
    return _OwnActor()


def test_an_actor_that_hides_its_policy_is_refused(tmp_path):
  config = policies.make_experiment('sac', 'gym:Pendulum-v1')
  config = dataclasses.replace(config, builder=_OwnBuilder())
  with pytest.raises(export.ExportError, match='^_OwnActor .*GenericActor'):
    export.export(config, None, tmp_path / 'policy')
  assert list(tmp_path.iterdir()) == []


def test_parameters_that_are_not_finite_are_not_exported(tmp_path):
  config = policies.make_experiment('sac', 'gym:Pendulum-v1')
  learner = policies.make_learner(config)
  export.export(config, learner, tmp_path / 'policy')
  before = (tmp_path / 'policy' / 'policy.json').read_text()

  class Diverged:
    def get_variables(self, names):
      return jax.tree.map(lambda x: x * np.nan, learner.get_variables(names))

  with pytest.raises(export.ExportError, match=r'not finite: .*/b\[0\] is nan'):
    export.export(config, Diverged(), tmp_path / 'policy')
  assert (tmp_path / 'policy' / 'policy.json').read_text() == before
