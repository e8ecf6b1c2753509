"""Several environments in one actor: each as it would be by itself."""

import compat  # noqa: F401

import dm_env
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acme import environment_loop, specs
from acme.agents.jax import actor_core, actors
from acme.testing import fakes
from acme.utils import counting, loggers

from nodes import vector_actor

_LENGTHS = (3, 5, 2)


class Numbers(dm_env.Environment):
  """Episodes of one length, with observations that say whose they are."""

  def __init__(self, lane: int):
    self._lane = lane
    self._episode = 0

  def reset(self):
    self._episode += 1
    self._step = 0
    return dm_env.restart(self._observe())

  def step(self, action):
    self._step += 1
    done = self._step == _LENGTHS[self._lane]
    reward = np.float32(self._lane + float(action))
    return (dm_env.termination if done else dm_env.transition)(
      reward, self._observe()
    )

  def _observe(self):
    return np.array([self._lane, self._episode, self._step], np.float32)

  def observation_spec(self):
    return specs.Array((3,), np.float32)

  def action_spec(self):
    return specs.Array((), np.float32)


class Written:
  """An adder that keeps what it is given."""

  def __init__(self):
    self.steps = []

  def add_first(self, timestep):
    self.steps.append(('first', timestep.observation.tolist()))

  def add(self, action, next_timestep, extras=()):
    extras = {name: np.asarray(leaf).tolist() for name, leaf in extras.items()}
    observation = next_timestep.observation.tolist()
    self.steps.append((float(action), observation, extras))


class Rows(loggers.Logger):
  def __init__(self):
    self.rows = []

  def write(self, data):
    self.rows.append(data)

  def close(self):
    pass


def make_actor(key, adder=None):
  """An actor that draws at random, with a state that remembers.

  The state of an episode that begins has another structure than later ones, as
  in Acme's PPO.
  """

  def act(parameters, observation, state):
    key, draw = jax.random.split(state['key'])
    memory = state.get('memory', jnp.zeros(3)) + observation
    noise = jax.random.uniform(draw)
    return parameters * noise, {'key': key, 'memory': memory}

  core = actor_core.ActorCore(
    init=lambda key: {'key': key},
    select_action=act,
    get_extras=lambda state: {'memory': state['memory']},
  )
  client = fakes.VariableSource(np.float32(2))
  return actors.GenericActor(core, key, VariableClient(client), adder)


class VariableClient:
  """Has its parameters from the start."""

  def __init__(self, source):
    (self.params,) = source.get_variables(['policy'])
    self.updates = 0

  def update(self, wait=False):
    self.updates += 1


def make_loop(max_actor_steps, keys):
  written = [Written() for _ in _LENGTHS]
  rows = Rows()
  lanes = [
    vector_actor.Lane(Numbers(lane), adder)
    for lane, adder in enumerate(written)
  ]
  loop = vector_actor.VectorActorLoop(
    lanes,
    vector_actor.BatchedPolicy(make_actor(keys[0]), keys),
    counting.Counter(prefix='actor', time_delta=0.0),
    rows,
    max_actor_steps,
  )
  return loop, written, rows.rows


@pytest.fixture
def keys():
  return jax.random.split(jax.random.PRNGKey(7), len(_LENGTHS))


def test_each_episode_is_what_its_environment_would_have_by_itself(keys):
  loop, written, _ = make_loop(30, keys)
  loop.run()

  for lane, adder in enumerate(written):
    alone = Written()
    episodes = sum(step[0] == 'first' for step in adder.steps)
    single = environment_loop.EnvironmentLoop(
      Numbers(lane), make_actor(keys[lane], alone), logger=loggers.NoOpLogger()
    )
    single.run(num_episodes=episodes)
    assert episodes > 1
    assert adder.steps == alone.steps


def test_ends_with_whole_episodes_that_are_all_counted(keys):
  loop, written, rows = make_loop(11, keys)
  loop.run()

  # Two of the first lane, two of the last, and the second's one make 15; the
  # third of the last began with 10 steps counted.
  steps = [row['episode_length'] for row in rows]
  assert steps == [2, 3, 2, 5, 3, 2]
  assert rows[-1]['actor_steps'] == sum(steps)
  assert rows[-1]['actor_episodes'] == len(rows)
  assert sum(s[0] != 'first' for w in written for s in w.steps) == sum(steps)


def test_returns_are_of_one_environment(keys):
  loop, written, rows = make_loop(1, keys)
  loop.run()

  by_length = {row['episode_length']: row['episode_return'] for row in rows}
  for lane, length in enumerate(_LENGTHS):
    actions = [step[0] for step in written[lane].steps if step[0] != 'first']
    expected = sum(lane + action for action in actions)
    assert by_length[length] == pytest.approx(expected)


def test_an_actor_that_hides_its_policy_is_refused(keys):
  environment = fakes.DiscreteEnvironment()
  actor = fakes.Actor(specs.make_environment_spec(environment))
  with pytest.raises(TypeError, match='--envs_per_actor'):
    vector_actor.BatchedPolicy(actor, keys)
