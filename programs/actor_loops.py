"""What steps an actor's environments: Acme's loop for one, a batch for more."""

import copy
from collections.abc import Callable, Sequence

import compat  # noqa: F401

import dm_env
import jax
from acme import adders, core, environment_loop
from acme.utils import loggers, observers

from nodes import actor as actor_lib
from nodes import counter_client, finite, learner, timing, vector_actor
from nodes import steps as steps_lib
from programs.experiment import ExperimentConfig


def make_loop(
  experiment: ExperimentConfig,
  environments: Sequence[dm_env.Environment],
  make_actor: Callable[[jax.Array, adders.Adder | None], core.Actor],
  make_adder: Callable[[], adders.Adder | None],
  random_key: jax.Array,
  counter: counter_client.Counter,
  logger: loggers.Logger,
  weights_observer: observers.EnvLoopObserver,
  timer: timing.Timer,
) -> core.Worker:
  """Returns the loop of one actor process.

  Args:
    experiment: its observers see every step, and it says when it is enough.
    environments: of this process.
    make_actor: makes an actor from a random key and an adder.
    make_adder: makes what records the steps of one environment.
    random_key: of this process.
    counter: counts the steps; it reports when it is told to.
    logger: gets one row an episode, and one a second of a longer one.
    weights_observer: says which weights were used.
    timer: of what the parts do.

  Raises:
    TypeError: there are several environments, and the actor is made for one.
  """
  environments = [timer.time(e, timing.ENVIRONMENT) for e in environments]
  watch = finite.Watch(experiment.non_finite == 'stop')
  logger = learner.WithMetrics(logger, [watch.metrics])
  steps = steps_lib.StepCounter(counter, logger, experiment.max_num_actor_steps)

  def make_timed_adder():
    return timer.time(make_adder(), timing.ADDER)

  def make_timed_actor(adder):
    return timer.time(make_actor(random_key, adder), timing.ACTOR)

  if len(environments) == 1:
    adder = make_timed_adder()
    loop = environment_loop.EnvironmentLoop(
      environments[0],
      make_timed_actor(adder),
      steps,
      logger,
      # What is counted was made, also where the last one ends the loop.
      observers=[*experiment.observers, steps, weights_observer],
    )
    return actor_lib.ActorLoop(loop, logger, steps, adder, watch)
  lanes = [
    vector_actor.Lane(
      environment,
      make_timed_adder(),
      # They keep what belongs to one episode.
      [*copy.deepcopy(experiment.observers), steps, weights_observer],
    )
    for environment in environments
  ]
  policy = timer.time(
    vector_actor.BatchedPolicy(
      make_timed_actor(None), jax.random.split(random_key, len(lanes))
    ),
    timing.BATCHED_POLICY,
  )
  return vector_actor.VectorActorLoop(lanes, policy, logger, steps, watch)
