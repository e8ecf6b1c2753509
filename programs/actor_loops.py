"""Makes an actor's loop: Acme's for one environment, a batched one for more."""

import copy
import dataclasses
from collections.abc import Callable, Sequence

import compat  # noqa: F401

import dm_env
import jax
from acme import adders, core, environment_loop
from acme.utils import loggers, observers

from nodes import actor as actor_lib
from nodes import counter_client, row_loggers, timing, vector_actor
from nodes import steps as steps_lib
from nodes.checks import finite
from programs import experiment as experiment_lib
from replay import batch_adders


@dataclasses.dataclass(frozen=True)
class ActorParts:
  """The parts from which an actor's loop is made.

  Attributes:
    environments: the environments of this process, at least one.
    make_actor: makes an actor from a random key, uint32[2], and an adder. An
      actor without an adder records nothing.
    make_adder: makes the adder for one environment, or None if the agent needs
      none.
    make_batch_adder: makes the adder for a number of environments.
    random_key: uint32[2], the actor's random key.
    counter: counts the process's steps. It reports only when `sync` is called.
    logger: gets one row an episode, and one row a second during an episode.
    weights_observer: adds to each row which weights were used.
    timer: measures what the process spends its time on.
  """

  environments: Sequence[dm_env.Environment]
  make_actor: Callable[[jax.Array, adders.Adder | None], core.Actor]
  make_adder: Callable[[], adders.Adder | None]
  make_batch_adder: Callable[[int], batch_adders.BatchAdder]
  random_key: jax.Array
  counter: counter_client.Counter
  logger: loggers.Logger
  weights_observer: observers.EnvLoopObserver
  timer: timing.Timer

  def timed_environments(self) -> list[dm_env.Environment]:
    return [self.timer.time(e, timing.ENVIRONMENT) for e in self.environments]

  def make_timed_adder(self) -> adders.Adder | None:
    return self.timer.time(self.make_adder(), timing.ADDER)

  def make_timed_actor(self, adder: adders.Adder | None) -> core.Actor:
    return self.timer.time(
      self.make_actor(self.random_key, adder), timing.ACTOR
    )


def make_loop(
  experiment: experiment_lib.ExperimentConfig, parts: ActorParts
) -> core.Worker:
  """Returns the loop of one actor process.

  Args:
    experiment: the experiment. Its observers and its number of actor steps are
      used here.
    parts: the environments, the actor, and the other parts of the process.

  Raises:
    TypeError: there are several environments, and the actor is not a
      `GenericActor`, so it cannot act in all of them at once.
  """
  watch = experiment.make_watch()
  logger = row_loggers.WithMetrics(parts.logger, [watch.metrics])
  steps = steps_lib.StepCounter(
    parts.counter, logger, experiment.max_num_actor_steps
  )
  make = _make_single_loop if len(parts.environments) == 1 else _make_batch_loop
  return make(experiment.observers, parts, logger, steps, watch)


def _make_single_loop(
  own_observers: Sequence[observers.EnvLoopObserver],
  parts: ActorParts,
  logger: loggers.Logger,
  steps: steps_lib.StepCounter,
  watch: finite.Watch,
) -> actor_lib.ActorLoop:
  (environment,) = parts.timed_environments()
  adder = parts.make_timed_adder()
  loop = environment_loop.EnvironmentLoop(
    environment,
    parts.make_timed_actor(adder),
    steps,
    logger,
    # `steps` comes after the experiment's own observers. So they have seen the
    # last step, too, when it ends the loop.
    observers=[*own_observers, steps, parts.weights_observer],
  )
  return actor_lib.ActorLoop(loop, logger, steps, adder, watch)


def _make_batch_loop(
  own_observers: Sequence[observers.EnvLoopObserver],
  parts: ActorParts,
  logger: loggers.Logger,
  steps: steps_lib.StepCounter,
  watch: finite.Watch,
) -> vector_actor.VectorActorLoop:
  lanes = [
    vector_actor.Lane(
      environment,
      # Each lane has copies, since an observer keeps the state of one episode.
      [*copy.deepcopy(own_observers), steps, parts.weights_observer],
    )
    for environment in parts.timed_environments()
  ]
  policy = parts.timer.time(
    vector_actor.BatchedPolicy(
      parts.make_timed_actor(None),
      jax.random.split(parts.random_key, len(lanes)),
    ),
    timing.BATCHED_POLICY,
  )
  adder = parts.timer.time(parts.make_batch_adder(len(lanes)), timing.ADDER)
  return vector_actor.VectorActorLoop(
    lanes, policy, adder, logger, steps, watch
  )
