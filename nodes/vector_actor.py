"""An actor of several environments: one policy call gives all their actions."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

from compat import acme_internals

import dm_env
import jax
import jax.numpy as jnp
import numpy as np
import tree
from acme import core
from acme.agents.jax import actors
from acme.utils import loggers
from acme.utils import observers as observers_lib

from nodes import steps as steps_lib
from nodes.checks import finite
from replay import batch_adders


class BatchedPolicy:
  """The policy of a `GenericActor`, for a batch of episodes.

  Each row of the batch is one episode and has its own random key and state. Its
  actions are those that the actor itself would choose, except that floats may
  be summed in another order.
  """

  def __init__(self, actor: core.Actor, random_keys: jax.Array):
    """Takes the policy out of an actor.

    Args:
      actor: holds the policy, and keeps its parameters up to date.
      random_keys: uint32[batch, 2], one key for the episodes of each row.

    Raises:
      TypeError: the actor is no `GenericActor`, so its policy is not known.
    """
    if not isinstance(actor, actors.GenericActor):
      raise TypeError(
        f'{type(actor).__name__} acts in one environment at a time; leave out '
        "--envs_per_actor, or make the builder's make_actor return an "
        'acme.agents.jax.actors.GenericActor'
      )
    self._actor = actor
    self._keys = [*random_keys]
    init, select_action, get_extras, _ = acme_internals.pure_functions(actor)

    def act(parameters, observation, state):
      action, state = select_action(parameters, observation, state)
      return action, get_extras(state), state

    def act_either(parameters, observation, state, first_state, is_first):
      # States differ in structure before and after a first step, as in PPO.
      later = act(parameters, observation, state)
      first = act(parameters, observation, first_state)
      return jax.tree_util.tree_map(
        lambda a, b: jnp.where(is_first, a, b), first, later
      )

    def replace_row(states, row, key):
      return jax.tree_util.tree_map(
        lambda rows, fresh: rows.at[row].set(fresh), states, init(key)
      )

    self._act = _jit(jax.vmap(act, (None, 0, 0)))
    self._act_either = _jit(jax.vmap(act_either, (None, 0, 0, 0, 0)))
    self._replace_row = _jit(replace_row)
    self._states = None
    self._first_states = _jit(jax.vmap(init))(random_keys)
    self._is_first = np.ones(len(random_keys), bool)

  def begin(self, row: int) -> None:
    """Begins an episode in a row of the batch."""
    self._keys[row], key = jax.random.split(self._keys[row])
    self._first_states = self._replace_row(self._first_states, row, key)
    self._is_first[row] = True
    acme_internals.update_before_episode(self._actor)

  def act(self, batch: Any) -> tuple[Any, Any]:
    """Returns the actions and the adder's extras.

    Args:
      batch: the observations, a nest of arrays of [batch, ...].

    Returns:
      Two nests of NumPy arrays of [batch, ...].
    """
    parameters = acme_internals.parameters(self._actor)
    if self._is_first.all():
      result = self._act(parameters, batch, self._first_states)
    elif self._is_first.any():
      result = self._act_either(
        parameters, batch, self._states, self._first_states, self._is_first
      )
    else:
      result = self._act(parameters, batch, self._states)
    actions, extras, self._states = result
    self._is_first[:] = False
    return jax.tree_util.tree_map(np.asarray, (actions, extras))

  def update(self) -> None:
    """Fetches newer parameters, if there are any."""
    self._actor.update()


def _jit(function: Callable[..., Any]) -> Callable[..., Any]:
  # `GenericActor` acts on the CPU even if there is an accelerator.
  return jax.jit(function, backend='cpu')


@dataclasses.dataclass
class Lane:
  """One environment and its current episode.

  Attributes:
    environment: the environment. Only this lane uses it.
    observers: called at every step.
    timestep: the newest timestep of the episode, once an episode has begun.
  """

  environment: dm_env.Environment
  observers: Sequence[observers_lib.EnvLoopObserver] = ()

  def begin(self) -> None:
    """Begins an episode."""
    self._began, self._steps = time.time(), 0
    spec = self.environment.reward_spec()
    self._return = tree.map_structure(
      lambda leaf: np.zeros(leaf.shape, leaf.dtype), spec
    )
    self._add = _add_nests if tree.is_nested(spec) else np.add
    self.timestep = self.environment.reset()
    for observer in self.observers:
      observer.observe_first(self.environment, self.timestep)

  def step(self, action: Any) -> None:
    """Takes one step of the episode."""
    self.timestep = self.environment.step(action)

  def observe(self, action: Any) -> None:
    """Calls the observers after a step."""
    for observer in self.observers:
      observer.observe(self.environment, self.timestep, action)
    self._steps += 1
    self._return = self._add(self._return, self.timestep.reward)

  def end(self, counter: steps_lib.StepCounter) -> dict[str, Any]:
    """Counts the episode; returns the row that Acme's loop would log.

    Args:
      counter: counts the episode and its steps.
    """
    row = {
      'episode_length': self._steps,
      'episode_return': self._return,
      'steps_per_second': self._steps / (time.time() - self._began),
      **counter.increment(episodes=1, steps=self._steps),
    }
    for observer in self.observers:
      row.update(observer.get_metrics())
    return row


def _add_nests(a: Any, b: Any) -> Any:
  return tree.map_structure(np.add, a, b)


def _rows(actions: Any, number: int) -> list[Any]:
  """Returns the action of each lane from the actions of all."""
  if isinstance(actions, np.ndarray):
    return [actions[row, ...] for row in range(number)]
  return [
    tree.map_structure(lambda leaf, row=row: leaf[row, ...], actions)
    for row in range(number)
  ]


class VectorActorLoop(core.Worker):
  """Steps several environments in turn; each goes through its own episodes."""

  def __init__(
    self,
    lanes: Sequence[Lane],
    policy: BatchedPolicy,
    adder: batch_adders.BatchAdder,
    logger: loggers.Logger,
    steps: steps_lib.StepCounter,
    watch: finite.Watch | None = None,
  ):
    """Makes the loop.

    Args:
      lanes: one lane for each row of the policy's batch. `steps` is one of the
        observers of each lane.
      policy: acts in all lanes at once.
      adder: records the steps of all lanes.
      logger: gets one row an episode.
      steps: counts each episode when it ends, and says when all actors together
        have made enough steps.
      watch: decides what happens at an episode with a NaN or an infinity: it is
        counted and left out, or the run ends. None ends the run.
    """
    self._lanes = tuple(lanes)
    self._policy = policy
    self._adder = adder
    self._logger = logger
    self._steps = steps
    self._watch = watch or finite.Watch()

  def run(self) -> None:
    """Runs episodes until the steps are enough."""
    for index in range(len(self._lanes)):
      self._begin(index)
    with contextlib.suppress(steps_lib.Enough):
      while True:
        self._step()

  def close(self) -> None:
    """Reports the steps of unfinished episodes."""
    self._steps.close()

  def _begin(self, index: int) -> None:
    lane = self._lanes[index]
    self._watch.try_until_finite(lane.begin, lambda: None)
    self._adder.add_first(index, lane.timestep)
    self._policy.begin(index)

  def _step(self) -> None:
    """Takes a step in each lane."""
    observations = batch_adders.stack(
      [lane.timestep.observation for lane in self._lanes]
    )
    actions, extras = self._policy.act(observations)
    stepped: list[int] = []
    is_enough = False
    try:
      for index, action in enumerate(_rows(actions, len(self._lanes))):
        self._step_lane(index, action, stepped)
    except steps_lib.Enough:
      is_enough = True
    finally:
      # So replay has each step that was counted.
      if stepped:
        timesteps = [lane.timestep for lane in self._lanes]
        self._adder.add(stepped, observations, actions, timesteps, extras)
    ended = [i for i in stepped if self._lanes[i].timestep.last()]
    for index in ended:
      self._watch.end_episode()
      row = self._lanes[index].end(self._steps)
      self._logger.write(row)
      is_enough = is_enough or self._steps.is_enough(row)
    if is_enough:
      raise steps_lib.Enough
    for index in ended:
      self._begin(index)
    self._policy.update()

  def _step_lane(self, index: int, action: Any, stepped: list[int]) -> None:
    """Takes a step in one lane, and appends its index to `stepped`."""
    lane = self._lanes[index]
    try:
      lane.step(action)
    except finite.NonFiniteError as error:
      self._adder.forget(index)
      self._watch.drop(error)
      self._begin(index)
    else:
      stepped.append(index)
      lane.observe(action)
      if lane.timestep.last() and self._steps.has_enough():
        raise steps_lib.Enough
