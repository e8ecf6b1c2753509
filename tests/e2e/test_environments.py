"""A run in each family of environments makes 2,000 steps."""

import pytest

from tests.e2e import runs

pytestmark = pytest.mark.long

_SETTINGS = 'hidden_layer_sizes=(32,),batch_size=16,gradient_steps_per_step=0.1'


@pytest.mark.parametrize(
  'agent, env',
  [
    ('dqn', 'gym:ALE/Pong-v5'),
    ('td3', 'gym:HalfCheetah-v5'),
    ('ddqn', 'gym:LunarLander-v3'),
    ('sac', 'dm_control:cartpole:swingup'),
    ('ddqn', 'bsuite:catch/0'),
  ],
)
def test_runs_2000_steps(agent, env, tmp_path):
  run = runs.Run(tmp_path / 'run')
  with run.launch(
    f'--agent={agent}',
    f'--env={env}',
    '--num_steps=2000',
    f'--config={_SETTINGS},min_replay_size=200',
  ):
    assert run.end(timeout=240) == 0, run.output
  assert run.count('actor_steps') >= 2000
  assert run.count('learner_steps') > 10
  assert run.left_over() == []
