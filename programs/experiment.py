"""What an experiment is: an agent's parts, an environment, and how long."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

import compat  # noqa: F401

import dm_env
import jax
from acme import core, environment_loop, specs
from acme.jax import utils
from acme.utils import counting, loggers
from acme.utils import observers as observers_lib

from nodes import actor as actor_lib
from nodes import counter_client, finite, replay, timing
from nodes import evaluator as evaluator_lib
from nodes import schedule as schedule_lib
from nodes.saving import checkpoint, journal
from programs import builders

_EVERY_3_SECONDS = schedule_lib.Schedule(every_seconds=3.0)

Networks = Any
Policy = Any


class EnvironmentFactory(Protocol):
  """Makes an environment."""

  def __call__(self, seed: int) -> dm_env.Environment:
    """Returns a new environment; `seed` is a uint32."""


class NetworkFactory(Protocol):
  """Makes an agent's networks."""

  def __call__(self, environment_spec: specs.EnvironmentSpec) -> Networks:
    """Returns the networks, without parameters."""


class PolicyFactory(Protocol):
  """Makes a policy; Acme's released form takes the networks alone."""

  def __call__(
    self,
    networks: Networks,
    environment_spec: specs.EnvironmentSpec,
    evaluation: bool,
  ) -> Policy:
    """Returns the policy, without exploration if `evaluation`."""


class LoggerFactory(Protocol):
  """Makes the logger of one process."""

  def __call__(
    self, label: str, steps_key: str | None = None, task_id: int = 0
  ) -> loggers.Logger:
    """Returns a logger for process `task_id` of the group `label`."""


class MakeActor(Protocol):
  """Makes an actor that records nothing.

  `environment_spec` may be left out, as it is in Acme's released form.
  """

  def __call__(
    self,
    random_key: jax.Array,
    policy: Policy,
    environment_spec: specs.EnvironmentSpec,
    variable_source: core.VariableSource,
  ) -> core.Actor: ...


class EvaluatorFactory(Protocol):
  """Makes an evaluator's loop."""

  def __call__(
    self,
    random_key: jax.Array,
    variable_source: core.VariableSource,
    counter: counting.Counter,
    make_actor: MakeActor,
  ) -> core.Worker: ...


def default_logger_factory(
  label: str, steps_key: str | None = None, task_id: int = 0
) -> loggers.Logger:
  """Returns a logger that prints a line a second and keeps nothing."""
  return loggers.make_default_logger(
    f'{label}/{task_id}', save_data=False, print_fn=print
  )


@dataclasses.dataclass(frozen=True)
class ExperimentConfig:
  """An experiment, whole: what `programs.distributed.make_program` runs.

  Attributes:
    builder: an Acme builder, of the released form (dm-acme 0.4.0) or the later.
    network_factory: makes the networks from the environment's spec.
    environment_factory: makes an environment from a uint32 seed.
    max_num_actor_steps: environment steps of all actors together after which
      the program stops, or None to run until it is stopped.
    envs_per_actor: environments in each actor process, of which one call of the
      policy steps all.
    max_num_learner_steps: steps of the learner after which it stops, or None.
    seed: from which every process derives its own random key.
    policy_factory: makes the actors' policy. None asks `builder.make_policy`.
    eval_policy_factory: makes the evaluators' policy. None uses
      `policy_factory`, or else `builder.make_policy`.
    evaluator_factories: one evaluator each. None is the default evaluators;
      an empty sequence is none at all.
    evaluations: the schedule of each default evaluator, which
      `evaluator_factories` replaces.
    environment_spec: None makes an environment to ask it.
    observers: see every step of the actors and of the default evaluator.
    logger_factory: makes each process's logger.
    checkpointing: where and how often, or None to keep nothing.
    variable_names: what actors ask the learner's `get_variables` for.
    profile_dir: where each process writes what its time went to, or None.
    non_finite: what a process does about a NaN or an infinity in what it acts
      on or learns from: 'stop' the run, or 'continue' without that.
    dataset_factory: makes the learner's batches where there is no replay; None
      asks the builder for those from replay.
  """

  builder: Any
  network_factory: NetworkFactory
  environment_factory: EnvironmentFactory
  max_num_actor_steps: int | None
  max_num_learner_steps: int | None = None
  envs_per_actor: int = 1
  seed: int = 0
  policy_factory: PolicyFactory | None = None
  eval_policy_factory: PolicyFactory | None = None
  evaluator_factories: Sequence[EvaluatorFactory] | None = None
  evaluations: Sequence[schedule_lib.Schedule] = (_EVERY_3_SECONDS,)
  environment_spec: specs.EnvironmentSpec | None = None
  observers: Sequence[observers_lib.EnvLoopObserver] = ()
  logger_factory: LoggerFactory = default_logger_factory
  checkpointing: checkpoint.CheckpointingConfig | None = None
  variable_names: Sequence[str] = ('policy',)
  profile_dir: str | None = None
  non_finite: Literal['stop', 'continue'] = 'stop'
  dataset_factory: Callable[[], Iterator[Any]] | None = None

  def get_environment_spec(self) -> specs.EnvironmentSpec:
    """Returns the given spec, or that of an environment made to ask it."""
    if self.environment_spec is not None:
      return self.environment_spec
    environment = self.environment_factory(0)
    try:
      return specs.make_environment_spec(environment)
    finally:
      environment.close()

  def get_builder(self) -> builders.Builder:
    """Returns the builder in the one form that the nodes call."""
    return builders.adapt(self.builder)

  def get_checkpointer(self, process: str) -> checkpoint.Checkpointer | None:
    """Returns the checkpointer of one process, if anything is to be kept."""
    if self.checkpointing is None:
      return None
    return checkpoint.Checkpointer(self.checkpointing, process)

  def get_journal(self, process: str) -> journal.Journal | None:
    """Returns the journal of one process, if anything is to be kept."""
    if self.checkpointing is None:
      return None
    return journal.Journal(f'{self.checkpointing.directory}/{process}.journal')

  def get_timer(self, label: str, task_id: int = 0) -> timing.Timer:
    """Returns the timer of one process; it times if that is asked for."""
    if self.profile_dir is None:
      return timing.NoTimer()
    return timing.TreeTimer(f'{self.profile_dir}/{label}_{task_id}.json')

  def get_replay_checkpointing(self) -> replay.ReplayCheckpointing | None:
    """Returns how replay is kept, if it is to be."""
    keep = self.checkpointing
    if keep is None or not keep.keep_replay:
      return None
    return replay.ReplayCheckpointing(
      f'{keep.directory}/replay', keep.every_seconds
    )

  def get_evaluator_factories(self) -> Sequence[EvaluatorFactory]:
    """Returns the given factories, or the default ones."""
    if self.evaluator_factories is not None:
      return self.evaluator_factories
    return [
      default_evaluator_factory(
        self.environment_factory,
        self.network_factory,
        lambda networks, spec, evaluation: make_policy(
          self, networks, spec, evaluation
        ),
        self.logger_factory,
        self.observers,
        schedule,
        evaluator_id,
        finite.Watch(self.non_finite == 'stop'),
      )
      for evaluator_id, schedule in enumerate(self.evaluations)
    ]


def make_policy(
  experiment: ExperimentConfig,
  networks: Networks,
  environment_spec: specs.EnvironmentSpec,
  evaluation: bool,
) -> Policy:
  """Makes the policy of the actors, or of the evaluators.

  Raises:
    ValueError: neither the experiment nor its builder knows how.
  """
  factory = experiment.policy_factory
  if evaluation and experiment.eval_policy_factory is not None:
    factory = experiment.eval_policy_factory
  if factory is None:
    factory = getattr(experiment.builder, 'make_policy', None)
  if factory is None:
    raise ValueError(
      f'{type(experiment.builder).__name__} has no make_policy, so '
      'ExperimentConfig needs a policy_factory.'
    )
  return call_policy_factory(factory, networks, environment_spec, evaluation)


def call_policy_factory(
  factory: Callable[..., Policy],
  networks: Networks,
  environment_spec: specs.EnvironmentSpec,
  evaluation: bool,
) -> Policy:
  """Calls a policy factory, of any of Acme's forms, with what it takes."""
  parameters = inspect.signature(factory).parameters
  if len(parameters) > 2:
    return factory(networks, environment_spec, evaluation)
  known = {'environment_spec': environment_spec, 'evaluation': evaluation}
  return factory(
    networks, **{name: known[name] for name in known if name in parameters}
  )


def default_evaluator_factory(
  environment_factory: EnvironmentFactory,
  network_factory: NetworkFactory,
  policy_factory: Callable[..., Policy],
  logger_factory: LoggerFactory = default_logger_factory,
  observers: Sequence[observers_lib.EnvLoopObserver] = (),
  schedule: schedule_lib.Schedule = _EVERY_3_SECONDS,
  evaluator_id: int = 0,
  watch: finite.Watch | None = None,
) -> EvaluatorFactory:
  """Returns a factory of an evaluator of the newest weights.

  Args:
    environment_factory: makes the evaluator's own environment.
    network_factory: makes the networks from the environment's spec.
    policy_factory: of either form; told of the evaluation if it asks.
    logger_factory: gets one row an episode.
    observers: see every step.
    schedule: when it evaluates, and for how many episodes.
    evaluator_id: among the evaluators, for its logger.
    watch: takes note of episodes that are not finite.
  """

  def evaluator(
    random_key: jax.Array,
    variable_source: core.VariableSource,
    counter: counting.Counter,
    make_actor: MakeActor,
  ) -> core.Worker:
    environment_key, actor_key = jax.random.split(random_key)
    environment = environment_factory(utils.sample_uint32(environment_key))
    environment_spec = specs.make_environment_spec(environment)
    networks = network_factory(environment_spec)
    policy = call_policy_factory(
      policy_factory, networks, environment_spec, True
    )
    source = evaluator_lib.PinnedSource(variable_source)
    actor = make_actor(actor_key, policy, environment_spec, source)
    logger = logger_factory('evaluator', 'actor_steps', evaluator_id)
    loop = environment_loop.EnvironmentLoop(
      environment,
      actor,
      counter_client.Counter(counter, 'evaluator', time_delta=0.0),
      logger,
      # An evaluation is of one version.
      should_update=False,
      observers=[*observers, actor_lib.WeightsObserver(variable_source)],
    )
    return evaluator_lib.EvaluatorLoop(
      loop, actor, source, counter.get_counts, logger, schedule, watch
    )

  return evaluator
