"""An actor acts in each of its environments as if it were the only one."""

import compat  # noqa: F401

import dm_env
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from acme import environment_loop, specs
from acme.agents.jax import actor_core, actors
from acme.testing import fakes
from acme.utils import loggers

from nodes import counter as counter_lib
from nodes import counter_client, steps, vector_actor
from replay import batch_adders

_LENGTHS = (3, 5, 2)


class Numbers(dm_env.Environment):
  """An environment whose observations are (lane, episode, step).

  All episodes of a lane have the length that `_LENGTHS` gives.
  """

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
  """An adder that keeps its arguments in a list."""

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
  """Returns an actor that acts at random and sums its observations.

  The state at the beginning of an episode has another structure than later
  states, as in Acme's PPO.
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
  """A variable client that has parameters from the start."""

  def __init__(self, source):
    (self.params,) = source.get_variables(['policy'])
    self.updates = 0

  def update(self, wait=False):
    self.updates += 1


def make_loop(max_actor_steps, keys):
  written = [Written() for _ in _LENGTHS]
  rows = Rows()
  counter = counter_client.Counter(counter_lib.GlobalCounter(), 'actor')
  counts = steps.StepCounter(counter, rows, max_actor_steps, 1000.0)
  lanes = [
    vector_actor.Lane(Numbers(lane), [counts]) for lane in range(len(written))
  ]
  loop = vector_actor.VectorActorLoop(
    lanes,
    vector_actor.BatchedPolicy(make_actor(keys[0]), keys),
    batch_adders.LaneAdders(written),
    rows,
    counts,
  )
  return loop, written, rows.rows


@pytest.fixture
def keys():
  return jax.random.split(jax.random.PRNGKey(7), len(_LENGTHS))


def test_each_episode_is_as_if_its_environment_were_alone(keys):
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
    # The last episode is unfinished.
    assert adder.steps == alone.steps[: len(adder.steps)]


def test_the_loop_ends_at_the_limit_in_the_middle_of_episodes(keys):
  loop, written, rows = make_loop(11, keys)
  loop.run()

  *whole, last = rows
  assert [row['episode_length'] for row in whole] == [2, 3]
  assert last['actor_steps'] == 11
  assert last['actor_episodes'] == 2
  assert sum(s[0] != 'first' for w in written for s in w.steps) == 11


def test_episodes_that_end_with_the_last_step_count(keys):
  # The limits lie before, in and after rounds of steps that end episodes.
  for limit in range(4, 12):
    loop, written, rows = make_loop(limit, keys)
    loop.run()
    loop.close()
    added = [step for adder in written for step in adder.steps]
    assert rows[-1]['actor_steps'] == limit
    assert sum(step[0] != 'first' for step in added) == limit
    ends = sum(
      sum(step[0] != 'first' for step in adder.steps) // length
      for adder, length in zip(written, _LENGTHS, strict=True)
    )
    assert rows[-1].get('actor_episodes', 0) == ends


def test_a_row_has_the_return_of_one_environment(keys):
  loop, written, rows = make_loop(16, keys)
  loop.run()

  by_length = {}
  for row in filter(lambda row: 'episode_length' in row, rows):
    by_length.setdefault(row['episode_length'], row['episode_return'])
  for lane, length in enumerate(_LENGTHS):
    steps = written[lane].steps[1 : length + 1]
    actions = [action for action, *_ in steps]
    expected = sum(lane + action for action in actions)
    assert by_length[length] == pytest.approx(expected)


def test_an_actor_that_hides_its_policy_is_refused(keys):
  environment = fakes.DiscreteEnvironment()
  actor = fakes.Actor(specs.make_environment_spec(environment))
  with pytest.raises(TypeError, match='--envs_per_actor'):
    vector_actor.BatchedPolicy(actor, keys)
