"""Each agent acts, learns and ends in real processes, in the one graph."""

import json

import pytest

from programs import agents
from programs.agents import configs
from tests.e2e import runs
from tests.programs import recordings

_OFF_POLICY = 'hidden_layer_sizes=(8,),batch_size=8,min_replay_size=100'
_SEQUENCES = 'hidden_layer_sizes=(8,),batch_size=4'
_ON_POLICY = 'hidden_layer_sizes=(8,),unroll_length=8,batch_size=4'
_RUNS = [
  ('td3', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('d4pg', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('value_dice', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('ail', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('ppo', 'gym:Pendulum-v1', 1000, _ON_POLICY),
  ('ppo', 'gym:CartPole-v1', 1000, _ON_POLICY),
  ('dqn', 'gym:CartPole-v1', 600, _OFF_POLICY),
  ('ddqn', 'gym:CartPole-v1', 600, _OFF_POLICY),
  ('r2d2', 'bsuite:catch/0', 600, _SEQUENCES + ',min_replay_size=20'),
  ('impala', 'bsuite:catch/0', 1000, _SEQUENCES + ',sequence_length=10'),
]
# One that keeps a state from step to step, and one whose replay is a queue.
_ENVS_PER_ACTOR = {'r2d2': 3, 'ppo': 2}
_PROFILED = 'td3'
# In `test_launch` and `test_offline`.
_ELSEWHERE = {'sac', 'bc'}


def test_every_agent_is_here():
  assert {agent for agent, *_ in _RUNS} | _ELSEWHERE == {*agents.AGENTS}


@pytest.mark.parametrize('agent, env, num_steps, settings', _RUNS)
def test_runs_to_its_end(agent, env, num_steps, settings, tmp_path):
  flags = [f'--agent={agent}', f'--env={env}', f'--num_steps={num_steps}']
  if agent in configs.IMITATORS:
    recordings.record(tmp_path / 'teacher', env, 2)
    flags.append(f'--demonstrations={tmp_path / "teacher"}')
  flags.append(f'--envs_per_actor={_ENVS_PER_ACTOR.get(agent, 1)}')
  flags += ['--profile'] * (agent == _PROFILED)
  run = runs.Run(tmp_path / 'run')
  with run.launch(*flags, f'--config={settings}', '--num_actors=1'):
    assert run.end() == 0, run.output
  assert run.left_over() == []
  assert 'killing' not in run.output
  assert run.count('actor_steps') >= num_steps
  assert run.count('learner_steps') > 0
  versions = run.column('actor_0', 'weights/version')
  assert versions == sorted(versions)
  assert versions[-1] > 1
  if agent == _PROFILED:
    _check_profile(run)


def _check_profile(run):
  tree = {
    path.stem: json.loads(path.read_text())
    for path in (run.run_dir / 'profile').glob('*.json')
  }
  acts = {'', 'environment', 'policy', 'weights'}
  assert acts | {'insert'} == {*tree['actor_0']}
  assert acts == {*tree['evaluator_0']}
  assert {'', 'step', 'step/sample wait', 'publish'} <= {*tree['learner_0']}
  steps = tree['learner_0']['step']['calls']
  # One more waited when the run ended.
  assert run.count('learner_steps') <= steps <= run.count('learner_steps') + 1
  assert 'gradient step' in run.output
  assert [*run.run_dir.glob('profile/plugins/profile/*/*.xplane.pb')]
