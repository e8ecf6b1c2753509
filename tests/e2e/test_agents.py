"""Each agent acts and learns in the processes of a run, and the run ends."""

import pytest

from programs import agents
from tests.e2e import runs
from tests.programs.data import recordings

_OFF_POLICY = 'hidden_layer_sizes=(8,),batch_size=8,min_replay_size=100'
_SEQUENCES = 'hidden_layer_sizes=(8,),batch_size=4'
_ON_POLICY = 'hidden_layer_sizes=(8,),unroll_length=8,batch_size=4'
_RUNS = [
  ('ppo', 'gym:CartPole-v1', 1000, _ON_POLICY),
  ('sac', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('td3', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('d4pg', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('value_dice', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('ail', 'gym:Pendulum-v1', 600, _OFF_POLICY),
  ('ppo', 'gym:Pendulum-v1', 1000, _ON_POLICY),
  ('dqn', 'gym:CartPole-v1', 600, _OFF_POLICY),
  ('ddqn', 'gym:CartPole-v1', 600, _OFF_POLICY),
  ('r2d2', 'bsuite:catch/0', 600, _SEQUENCES + ',min_replay_size=20'),
  ('impala', 'bsuite:catch/0', 1000, _SEQUENCES + ',sequence_length=10'),
]
# r2d2 keeps a state from step to step, and ppo's replay is a queue.
_ENVS_PER_ACTOR = {'r2d2': 3, 'ppo': 2}
_ELSEWHERE = {'bc'}  # `test_offline` runs it.


def test_every_agent_is_here():
  assert {agent for agent, *_ in _RUNS} | _ELSEWHERE == {*agents.AGENTS}


@pytest.mark.parametrize(
  'agent, env, num_steps, settings',
  # `tests/programs/agents/test_graph.py` runs each agent in one process.
  [
    _RUNS[0],
    *(pytest.param(*run, marks=pytest.mark.long) for run in _RUNS[1:]),
  ],
)
def test_runs_to_its_end(agent, env, num_steps, settings, tmp_path):
  flags = [f'--agent={agent}', f'--env={env}', f'--num_steps={num_steps}']
  if agents.find(agent).learns_from.needs_demonstrations:
    recordings.record(tmp_path / 'teacher', env, 2)
    flags.append(f'--demonstrations={tmp_path / "teacher"}')
  flags.append(f'--envs_per_actor={_ENVS_PER_ACTOR.get(agent, 1)}')
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
  # Batches that lost their values on the way would give losses of zero.
  losses = [name for name in run.rows('learner_0')[0] if 'loss' in name]
  assert losses
  assert all(any(run.column('learner_0', name)) for name in losses)
