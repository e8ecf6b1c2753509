"""What each process of the program builds when it starts."""

import contextlib
import dataclasses
from collections.abc import Sequence

import compat  # noqa: F401

import dm_env
import jax
import reverb
from acme import core, specs
from acme.jax import utils
from acme.utils import counting, loggers

import container
from nodes import actor as actor_lib
from nodes import counter as counter_lib
from nodes import counter_client, safe_environment, timing, worker
from nodes import learner as learner_lib
from programs import actor_loops, builders, seeding
from programs.experiment import ExperimentConfig, make_policy

# Small agents step hundreds of times a second: more versions than this cost
# actors more than they bring.
_PUBLISH_SECONDS = 0.2
_FLUSH_SECONDS = 2.0
_LAST_REPORT_SECONDS = 2.0
# For the weights that the learner left behind.
_LAST_EVALUATION_SECONDS = 6.0


def replay_tables(experiment: ExperimentConfig) -> Sequence[reverb.Table]:
  """The replay server: the builder's tables."""
  spec = experiment.get_environment_spec()
  policy = make_policy(
    experiment, experiment.network_factory(spec), spec, evaluation=False
  )
  return experiment.get_builder().make_replay_tables(spec, policy)


@worker.exits_fail()
def variable_tables(experiment: ExperimentConfig) -> Sequence[reverb.Table]:
  """The variable server: one table shaped like what the learner publishes.

  Makes a learner that never steps, since only `get_variables` tells what an
  agent publishes under which name.
  """
  spec = experiment.get_environment_spec()

  def variables(random_key: jax.Array):
    learner = idle_learner(experiment, spec, random_key)
    return learner_lib.named_variables(learner, experiment.variable_names)

  random_key = seeding.process_key(experiment.seed, 'learner')
  try:
    # All wait for this server, and shapes alone come sooner than values.
    shapes = jax.eval_shape(variables, random_key)
  except Exception:  # A learner that looks at its values must have them.
    shapes = variables(random_key)
  return [container.variable_table(shapes)]


def idle_learner(
  experiment: ExperimentConfig,
  spec: specs.EnvironmentSpec,
  random_key: jax.Array,
) -> core.Learner:
  """Returns a learner with no data, for its variables alone."""
  return experiment.get_builder().make_learner(
    random_key,
    experiment.network_factory(spec),
    iter(()),
    lambda *args, **kwargs: loggers.NoOpLogger(),
    spec,
    counter=counting.Counter(),
  )


def counter(experiment: ExperimentConfig) -> core.Worker:
  """The counter: goes on from its journal and stops at the limit."""
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
  experiment: ExperimentConfig,
  replay: reverb.Client | None,
  variables: container.ReverbVariableContainer,
  counter: counter_client.CounterClient,
) -> core.Worker:
  """The learner: takes samples, pushes to the variable server."""
  builder = experiment.get_builder()
  spec = experiment.get_environment_spec()
  checkpointer = experiment.get_checkpointer('learner')
  saved = checkpointer.restore() if checkpointer else None
  timer = experiment.get_timer('learner')
  counts = counter_client.Counter(counter, 'learner')
  weights = learner_lib.WeightsWatch(counts, experiment.non_finite == 'stop')
  publisher = timer.time(
    container.Publisher(
      variables,
      every_seconds=_PUBLISH_SECONDS,
      version=learner_lib.version_saved(saved),
      accepts=weights.accepts,
    ),
    timing.PUBLISHER,
  )
  if experiment.dataset_factory is None:
    samples = learner_lib.Samples(builder.make_dataset_iterator(replay))
  else:
    samples = learner_lib.Samples(experiment.dataset_factory())
  timer.time(samples, timing.SAMPLES)
  logger = learner_lib.WithMetrics(
    learner_lib.WithLossesWatched(
      experiment.logger_factory('learner', 'learner_steps', 0), weights.where
    ),
    [publisher.metrics, samples.metrics, weights.metrics],
  )
  learner = builder.make_learner(
    seeding.process_key(experiment.seed, 'learner'),
    experiment.network_factory(spec),
    samples,
    lambda *args, **kwargs: logger,
    spec,
    replay,
    counts,
  )
  trace = timing.Trace(experiment.profile_dir)
  trace.follow(learner)
  loop = learner_lib.LearnerLoop(
    timer.time(learner, timing.LEARNER),
    experiment.variable_names,
    publisher,
    checkpointer,
    saved,
    lambda: _is_enough(counts, experiment.max_num_learner_steps),
    weights.accepts,
  )

  def end_publishing() -> None:
    # Whoever would read the last weights has stopped before the learner, so a
    # variable server that is away need not keep it; the checkpoint has them.
    with contextlib.suppress(TimeoutError, ConnectionError):
      publisher.close(_FLUSH_SECONDS)
    variables.close()

  return worker.StoppableWorker(
    loop,
    [
      lambda: counts.finish(_LAST_REPORT_SECONDS),
      loop.close,
      end_publishing,
      logger.close,
      timer.close,
      trace.close,
    ],
    on_stop=samples.stop,
  )


def _is_enough(counts: counter_client.Counter, limit: int | None) -> bool:
  if limit is None:
    return False
  enough = counts.get_counts().get(counter_lib.LEARNER_STEPS, 0) >= limit
  if enough:
    counts.sync()
  return enough


@worker.exits_fail()
def actor(
  experiment: ExperimentConfig,
  replay: reverb.Client,
  variables: container.ReverbVariableContainer,
  counter: counter_client.CounterClient,
  actor_id: int,
) -> core.Worker:
  """An actor: pulls from the variable server, inserts into replay."""
  builder = experiment.get_builder()
  environment_key, actor_key = jax.random.split(
    jax.random.fold_in(
      seeding.process_key(experiment.seed, 'actor', actor_id),
      counter.begin(f'actor/{actor_id}'),
    )
  )
  environments = [
    safe_environment.SafeEnvironment(
      experiment.environment_factory(utils.sample_uint32(key)),
      f'actor/{actor_id}',
    )
    for key in _split(environment_key, experiment.envs_per_actor)
  ]
  spec = specs.make_environment_spec(environments[0])
  networks = experiment.network_factory(spec)
  policy = make_policy(experiment, networks, spec, evaluation=False)
  variable_source = container.VariableSource(variables)
  logger = experiment.logger_factory('actor', 'actor_steps', actor_id)
  timer = experiment.get_timer('actor', actor_id)
  loop = actor_loops.make_loop(
    experiment,
    environments,
    lambda key, adder: builder.make_actor(
      key, policy, spec, variable_source, adder
    ),
    lambda: builder.make_adder(replay, spec, policy),
    actor_key,
    counter_client.Counter(counter, 'actor', time_delta=float('inf')),
    logger,
    actor_lib.WeightsObserver(variable_source),
    timer,
  )
  return worker.StoppableWorker(
    loop,
    # The container first: that ends a thread which waits for weights.
    [
      variables.close,
      loop.close,
      logger.close,
      timer.close,
      *(e.close for e in environments),
    ],
    on_stop=variables.close,
  )


def _split(key: jax.Array, number: int) -> Sequence[jax.Array]:
  # One environment has the key itself: its episodes are as they always were.
  return [key] if number == 1 else [*jax.random.split(key, number)]


@worker.exits_fail()
def evaluator(
  experiment: ExperimentConfig,
  variables: container.ReverbVariableContainer,
  counter: counter_client.CounterClient,
  evaluator_id: int,
) -> core.Worker:
  """An evaluator: whatever its factory makes of the newest weights."""
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
  return worker.StoppableWorker(
    loop,
    [
      variables.close,
      getattr(loop, 'close', lambda: None),
      timer.close,
      *(e.close for e in environments),
    ],
    on_stop=variables.close,
    linger_seconds=_LAST_EVALUATION_SECONDS,
  )
