"""An actor's steps count at once, and only finite ones reach replay."""

import compat  # noqa: F401

import dm_env
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reverb
from acme import environment_loop, specs
from acme.adders import reverb as adders
from acme.agents.jax import actor_core, actors
from acme.utils import loggers

from nodes import actor, counter_client, steps, vector_actor
from nodes import counter as counter_lib
from nodes.checks import finite, safe_environment
from replay import batch_adders
from run_files import metric_names

_BAD = float('nan')


class Walk(dm_env.Environment):
  """An environment whose episodes have one length or never end.

  Args:
    length: the number of steps of each episode. None makes it endless.
    bad_at: the number of the step, over all episodes, whose reward is a NaN.
  """

  def __init__(self, length=None, bad_at=None):
    self._length = length
    self._bad_at = bad_at
    self._all_steps = 0
    self.closed = 0

  def reset(self):
    self._step = 0
    return dm_env.restart(np.zeros(2, np.float32))

  def step(self, action):
    self._step += 1
    self._all_steps += 1
    bad = self._all_steps == self._bad_at
    end = self._step == self._length
    return (dm_env.termination if end else dm_env.transition)(
      np.float32(_BAD if bad else self._all_steps), np.ones(2, np.float32)
    )

  def observation_spec(self):
    return specs.Array((2,), np.float32)

  def action_spec(self):
    return specs.Array((), np.float32)

  def close(self):
    self.closed += 1


class Rows(loggers.Logger):
  def __init__(self):
    self.rows = []

  def write(self, data):
    self.rows.append(dict(data))

  def close(self):
    pass


class VariableClient:
  """A variable client that has parameters from the start."""

  params = np.float32(0.5)

  def update(self, wait=False):
    pass


def make_actor(adder=None):
  core = actor_core.ActorCore(
    init=lambda key: key,
    select_action=lambda parameters, observation, key: (
      parameters * jnp.sum(observation),
      key,
    ),
    get_extras=lambda state: (),
  )
  key = jax.random.PRNGKey(0)
  return actors.GenericActor(core, key, VariableClient(), adder)


class Acting:
  """The objects of an actor's process, with the counter in the same process."""

  def __init__(
    self, environment, limit=None, adder=None, stop=True, every_seconds=1000.0
  ):
    self.counter = counter_lib.GlobalCounter()
    client = counter_client.Counter(self.counter, 'actor', float('inf'))
    rows = Rows()
    self.rows = rows.rows
    self.steps = steps.StepCounter(client, rows, limit, every_seconds)
    self.environment = safe_environment.SafeEnvironment(environment, 'actor/0')
    self.watch = finite.Watch(stop)
    loop = environment_loop.EnvironmentLoop(
      self.environment,
      make_actor(adder),
      self.steps,
      rows,
      observers=[self.steps],
    )
    self.loop = actor.ActorLoop(loop, rows, self.steps, adder, self.watch)

  def vector_loop(self, rows, adder):
    lane = vector_actor.Lane(self.environment, [self.steps])
    policy = vector_actor.BatchedPolicy(
      make_actor(), jax.random.split(jax.random.PRNGKey(1), 1)
    )
    return vector_actor.VectorActorLoop(
      [lane],
      policy,
      batch_adders.LaneAdders([adder]),
      rows,
      self.steps,
      self.watch,
    )


def test_a_limit_ends_an_episode_that_never_ends():
  acting = Acting(Walk(), limit=400)
  acting.loop.run()
  assert acting.counter.get_counts()['actor_steps'] == 400
  assert acting.rows[-1]['actor_steps'] == 400


def test_others_know_of_steps_in_the_middle_of_an_episode():
  acting = Acting(Walk(), limit=5, every_seconds=0.0)
  acting.loop.run()
  assert [row['actor_steps'] for row in acting.rows] == [1, 2, 3, 4, 5]


def test_a_whole_episode_counts_once_and_the_limit_may_be_its_end():
  acting = Acting(Walk(length=4), limit=8)
  acting.loop.run()
  assert [row['episode_length'] for row in acting.rows] == [4, 4]
  counts = acting.counter.get_counts()
  assert counts == {'actor_steps': 8, 'actor_episodes': 2}


def test_steps_of_an_episode_that_a_stop_breaks_off_count():
  acting = Acting(Walk(bad_at=4))
  with pytest.raises(finite.NonFiniteError):
    acting.loop.run()
  assert acting.counter.get_counts().get('actor_steps', 0) < 3
  acting.loop.close()
  assert acting.counter.get_counts()['actor_steps'] == 3
  acting.loop.close()
  assert len(acting.rows) == 1


def test_a_reward_that_is_not_finite_is_named_with_its_task_and_step():
  acting = Acting(Walk(length=20, bad_at=50))
  with pytest.raises(finite.NonFiniteError) as error:
    acting.loop.run()
  for words in ('actor/0', 'its step 50,', 'step 10 of its episode 3'):
    assert words in str(error.value)
  assert 'reward is nan' in str(error.value)
  assert '--non_finite=continue' in str(error.value)


_SPEC = specs.make_environment_spec(Walk())


def _adders(client):
  return {
    'transitions': adders.NStepTransitionAdder(client, 2, 0.99),
    'sequences': adders.SequenceAdder(client, 2, 3),
    'on over the end': adders.SequenceAdder(
      client, 2, 3, end_of_episode_behavior=adders.EndBehavior.CONTINUE
    ),
  }


@pytest.fixture
def replay():
  server = reverb.Server(
    [
      reverb.Table(
        adders.DEFAULT_PRIORITY_TABLE,
        reverb.selectors.Fifo(),
        reverb.selectors.Fifo(),
        1000,
        reverb.rate_limiters.MinSize(1),
      )
    ]
  )
  yield reverb.Client(f'localhost:{server.port}')
  server.stop()


@pytest.mark.parametrize('several', [False, True])
@pytest.mark.parametrize('name', _adders(None))
def test_a_step_that_is_not_finite_is_left_out_and_acting_goes_on(
  replay, name, several
):
  adder = _adders(replay)[name]
  acting = Acting(Walk(length=20, bad_at=50), 100, adder, stop=False)
  rows = Rows()
  loop = acting.vector_loop(rows, adder) if several else acting.loop
  loop.run()
  del adder, loop

  table = replay.server_info()[adders.DEFAULT_PRIORITY_TABLE]
  samples = replay.sample(
    adders.DEFAULT_PRIORITY_TABLE, table.current_size, emit_timesteps=False
  )
  seen = [leaf for sample in samples for leaf in jax.tree.leaves(sample.data)]
  assert len(seen) > 40
  assert finite.find(seen) is None
  # The 50th step did not count, and no other step is missing.
  assert acting.counter.get_counts()['actor_steps'] == 100
  assert acting.watch.metrics() == {metric_names.LEFT_OUT: 1.0}
  lengths = [
    row['episode_length']
    for row in rows.rows or acting.rows
    if 'episode_length' in row
  ]
  assert lengths == [20, 20, 20, 20]


def test_an_environment_that_is_never_finite_ends_the_run_in_any_case():
  class Bad(Walk):
    def reset(self):
      return dm_env.restart(np.full(2, np.inf, np.float32))

  with pytest.raises(finite.NonFiniteError, match='Mend the environment'):
    Acting(Bad(), limit=10, stop=False).loop.run()


def test_an_environment_closes_once_and_steps_no_more():
  inner = Walk()
  environment = safe_environment.SafeEnvironment(inner, 'evaluator/0')
  environment.reset()
  environment.close()
  environment.close()
  assert inner.closed == 1
  with pytest.raises(SystemExit):
    environment.step(np.float32(0))
