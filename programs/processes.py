"""What each process of the program builds when it starts.

`distributed` and `offline` pass one of these functions to each of their nodes.
The node's process calls it, with the experiment and with a client in place of
each handle. The processes of the two servers build tables instead; see
`replay_tables` and `variable_tables`.
"""

import contextlib
import dataclasses
import functools

from compat import acme_internals

import dm_env
import jax
import reverb
from acme import adders, core, specs
from acme.jax import utils
from acme.utils import loggers

import container
from nodes import actor as actor_lib
from nodes import counter as counter_lib
from nodes import counter_client, row_loggers, timing, worker
from nodes import learner as learner_lib
from nodes.checks import safe_environment
from programs import actor_loops, builders, factories, seeding
from programs import experiment as experiment_lib

# The learner of a small agent steps hundreds of times a second. If it sent all
# versions, fetching them would slow down the actors for little gain.
_PUBLISH_SECONDS = 0.2
# An actor looks for newer weights in the background, so that no step waits.
_REFRESH_SECONDS = 0.02
_FLUSH_SECONDS = 2.0
_LAST_REPORT_SECONDS = 2.0
# How long a stopped evaluator may take to evaluate the learner's last weights.
_LAST_EVALUATION_SECONDS = 6.0


def counter(experiment: experiment_lib.ExperimentConfig) -> core.Worker:
  """Returns the counter, which starts from its journal and stops at limits."""
  journal = experiment.get_journal('counter')
  limits = {
    counter_lib.ACTOR_STEPS: experiment.max_num_actor_steps,
    counter_lib.LEARNER_STEPS: experiment.max_num_learner_steps,
  }
  counts = counter_lib.GlobalCounter(
    {name: limit for name, limit in limits.items() if limit is not None},
    journal,
  )
  return worker.StoppableWorker(counts, [journal.close] if journal else [])


@worker.exits_fail()
def learner(
  experiment: experiment_lib.ExperimentConfig,
  replay: reverb.Client | None,
  variables: container.ReverbVariableContainer,
  counter: counter_client.CounterClient,
) -> core.Worker:
  """Returns the learner: it samples from replay and publishes its weights."""
  checkpointer = experiment.get_checkpointer('learner')
  saved = checkpointer.restore() if checkpointer else None
  timer = experiment.get_timer('learner')
  counts = counter_client.Counter(counter, 'learner')
  watch = learner_lib.WeightsWatch(counts, experiment.non_finite == 'stop')
  publisher = container.Publisher(
    variables,
    every_seconds=_PUBLISH_SECONDS,
    version=learner_lib.version_saved(saved),
    accepts=watch.accepts,
  )
  timer.time(publisher, timing.PUBLISHER)
  samples = _samples(experiment, replay)
  timer.time(samples, timing.SAMPLES)
  logger = row_loggers.WithMetrics(
    row_loggers.WithLossesWatched(
      experiment.logger_factory('learner', 'learner_steps', 0), watch.progress
    ),
    [publisher.metrics, samples.metrics, watch.metrics],
  )
  learner = _make_learner(experiment, samples, logger, replay, counts)
  trace = timing.Trace(experiment.profile_dir)
  trace.follow(learner)
  loop = learner_lib.LearnerLoop(
    timer.time(learner, timing.LEARNER),
    experiment.variable_names,
    publisher,
    checkpointer,
    saved,
    lambda: _is_enough(counts, experiment.max_num_learner_steps),
    watch.accepts,
  )
  closers = [
    lambda: counts.finish(_LAST_REPORT_SECONDS),
    loop.close,
    lambda: _end_publishing(publisher, variables),
    logger.close,
    timer.close,
    trace.close,
  ]
  return worker.StoppableWorker(loop, closers, on_stop=samples.stop)


def _samples(
  experiment: experiment_lib.ExperimentConfig, replay: reverb.Client | None
) -> learner_lib.Samples:
  """Returns the learner's batches, from the dataset or else from replay."""
  if experiment.dataset_factory is not None:
    return learner_lib.Samples(experiment.dataset_factory())
  return learner_lib.Samples(
    experiment.get_builder().make_dataset_iterator(replay)
  )


def _make_learner(
  experiment: experiment_lib.ExperimentConfig,
  samples: learner_lib.Samples,
  logger: loggers.Logger,
  replay: reverb.Client | None,
  counts: counter_client.Counter,
) -> core.Learner:
  spec = experiment.get_environment_spec()
  return experiment.get_builder().make_learner(
    seeding.process_key(experiment.seed, 'learner'),
    experiment.network_factory(spec),
    samples,
    lambda *args, **kwargs: logger,
    spec,
    replay,
    counts,
  )


def _is_enough(counts: counter_client.Counter, limit: int | None) -> bool:
  """Returns whether the learner has made all its steps; then reports them."""
  if limit is None:
    return False
  is_enough = counts.get_counts().get(counter_lib.LEARNER_STEPS, 0) >= limit
  if is_enough:
    counts.sync()
  return is_enough


def _end_publishing(
  publisher: container.Publisher, variables: container.ReverbVariableContainer
) -> None:
  # All readers of the weights have stopped before the learner. So it does no
  # harm if the last weights cannot be sent; the checkpoint has them.
  with contextlib.suppress(TimeoutError, ConnectionError):
    publisher.close(_FLUSH_SECONDS)
  variables.close()


@worker.exits_fail()
def actor(
  experiment: experiment_lib.ExperimentConfig,
  replay: reverb.Client,
  variables: container.ReverbVariableContainer,
  counter: counter_client.CounterClient,
  actor_id: int,
) -> core.Worker:
  """Returns an actor: it pulls weights and inserts its steps into replay."""
  environment_key, actor_key = jax.random.split(
    jax.random.fold_in(
      seeding.process_key(experiment.seed, 'actor', actor_id),
      counter.begin(f'actor/{actor_id}'),
    )
  )
  environments = _make_environments(
    experiment, environment_key, f'actor/{actor_id}'
  )
  builder = experiment.get_builder()
  spec = specs.make_environment_spec(environments[0])
  policy = experiment.make_policy(
    experiment.network_factory(spec), spec, evaluation=False
  )
  source = container.VariableSource(variables, refresh_seconds=_REFRESH_SECONDS)

  parts = actor_loops.ActorParts(
    environments=environments,
    make_actor=functools.partial(_make_actor, builder, policy, spec, source),
    make_adder=lambda: builder.make_adder(replay, spec, policy),
    make_batch_adder=functools.partial(
      builders.make_batch_adder, builder, replay, spec, policy
    ),
    random_key=actor_key,
    counter=counter_client.Counter(counter, 'actor', time_delta=float('inf')),
    logger=experiment.logger_factory('actor', 'actor_steps', actor_id),
    weights_observer=actor_lib.WeightsObserver(source),
    timer=experiment.get_timer('actor', actor_id),
  )
  loop = actor_loops.make_loop(experiment, parts)
  closers = [
    # This must come first, since it ends a thread that waits for weights.
    variables.close,
    source.close,
    loop.close,
    parts.logger.close,
    parts.timer.close,
    *(environment.close for environment in environments),
  ]
  return worker.StoppableWorker(loop, closers, on_stop=variables.close)


def _make_actor(
  builder: builders.Builder,
  policy: factories.Policy,
  spec: specs.EnvironmentSpec,
  source: container.VariableSource,
  random_key: jax.Array,
  adder: adders.Adder | None,
) -> core.Actor:
  """Returns an actor that fetches weights only when there are newer ones."""
  actor = builder.make_actor(random_key, policy, spec, source, adder)
  acme_internals.fetch_only_news(actor, source.has_news)
  return actor


def _make_environments(
  experiment: experiment_lib.ExperimentConfig, random_key: jax.Array, name: str
) -> list[safe_environment.SafeEnvironment]:
  """Returns an actor's environments; each gets another seed."""
  number = experiment.envs_per_actor
  # A single environment gets the key itself, as in earlier versions of this
  # program, so that a seed still gives the same episodes.
  keys = [random_key] if number == 1 else jax.random.split(random_key, number)
  return [
    safe_environment.SafeEnvironment(
      experiment.environment_factory(utils.sample_uint32(key)), name
    )
    for key in keys
  ]


@worker.exits_fail()
def evaluator(
  experiment: experiment_lib.ExperimentConfig,
  variables: container.ReverbVariableContainer,
  counter: counter_client.CounterClient,
  evaluator_id: int,
) -> core.Worker:
  """Returns the evaluator that its factory makes; it pulls the weights."""
  timer = experiment.get_timer('evaluator', evaluator_id)
  environments = []

  def make_environment(seed: int) -> dm_env.Environment:
    environments.append(
      safe_environment.SafeEnvironment(
        experiment.environment_factory(seed), f'evaluator/{evaluator_id}'
      )
    )
    return timer.time(environments[-1], timing.ENVIRONMENT)

  watched = dataclasses.replace(
    experiment, environment_factory=make_environment
  )
  make_actor = builders.make_actor_of_either_form(
    experiment.get_builder(), experiment.get_environment_spec
  )
  loop = watched.get_evaluator_factories()[evaluator_id](
    seeding.process_key(experiment.seed, 'evaluator', evaluator_id),
    container.VariableSource(variables),
    counter,
    lambda *args, **kwargs: timer.time(
      make_actor(*args, **kwargs), timing.ACTOR
    ),
  )
  closers = [
    variables.close,
    getattr(loop, 'close', lambda: None),
    timer.close,
    *(environment.close for environment in environments),
  ]
  return worker.StoppableWorker(
    loop,
    closers,
    on_stop=variables.close,
    linger_seconds=_LAST_EVALUATION_SECONDS,
  )
