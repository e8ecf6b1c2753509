"""What an experiment is: an agent's parts, an environment, and how long."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import compat  # noqa: F401

from acme import specs
from acme.utils import observers as observers_lib

from nodes import replay, timing
from nodes import schedule as schedule_lib
from nodes.checks import finite
from nodes.saving import checkpoint, journal
from programs import builders, evaluators, factories

_EVERY_3_SECONDS = schedule_lib.Schedule(every_seconds=3.0)


@dataclasses.dataclass(frozen=True)
class ExperimentConfig:
  """An experiment, whole: what `programs.distributed.make_program` runs.

  Attributes:
    builder: an Acme builder, of the released form (dm-acme 0.4.0) or the later.
    network_factory: makes the networks from the environment's spec.
    environment_factory: makes an environment from a uint32 seed.
    max_num_actor_steps: environment steps of all actors together after which
      the program stops, or None to run until it is stopped.
    max_num_learner_steps: the learner's steps after which the program stops, or
      None.
    envs_per_actor: how many environments each actor process has; one call of
      the policy steps them all.
    seed: the number from which every process derives its own random key.
    policy_factory: makes the actors' policy. None asks `builder.make_policy`.
    eval_policy_factory: makes the evaluators' policy. None uses
      `policy_factory`, or else `builder.make_policy`.
    evaluator_factories: make one evaluator each. None stands for the default
      evaluators; with an empty sequence there is no evaluator.
    evaluations: the schedule of each default evaluator. Not used if there are
      `evaluator_factories`.
    environment_spec: the environment's spec. None makes an environment to ask
      it.
    observers: see every step of the actors and of the default evaluators.
    logger_factory: makes each process's logger.
    checkpointing: where and how often state is saved, or None to save nothing.
    variable_names: what actors ask the learner's `get_variables` for.
    profile_dir: the folder where each process writes what it spent its time on,
      or None.
    non_finite: what a process does about a NaN or an infinity in what it acts
      on or learns from: 'stop' the run, or 'continue' without that value.
    dataset_factory: makes the learner's batches where there is no replay. None
      asks the builder for batches from replay.
  """

  builder: Any
  network_factory: factories.NetworkFactory
  environment_factory: factories.EnvironmentFactory
  max_num_actor_steps: int | None
  max_num_learner_steps: int | None = None
  envs_per_actor: int = 1
  seed: int = 0
  policy_factory: factories.PolicyFactory | None = None
  eval_policy_factory: factories.PolicyFactory | None = None
  evaluator_factories: Sequence[factories.EvaluatorFactory] | None = None
  evaluations: Sequence[schedule_lib.Schedule] = (_EVERY_3_SECONDS,)
  environment_spec: specs.EnvironmentSpec | None = None
  observers: Sequence[observers_lib.EnvLoopObserver] = ()
  logger_factory: factories.LoggerFactory = factories.default_logger_factory
  checkpointing: checkpoint.CheckpointingConfig | None = None
  variable_names: Sequence[str] = ('policy',)
  profile_dir: str | None = None
  non_finite: Literal['stop', 'continue'] = 'stop'
  dataset_factory: Callable[[], Iterator[Any]] | None = None

  @property
  def num_evaluators(self) -> int:
    """How many evaluators `get_evaluator_factories` returns factories for."""
    if self.evaluator_factories is None:
      return len(self.evaluations)
    return len(self.evaluator_factories)

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

  def make_policy(
    self,
    networks: factories.Networks,
    environment_spec: specs.EnvironmentSpec,
    evaluation: bool,
  ) -> factories.Policy:
    """Makes the policy of the actors, or of the evaluators.

    Args:
      networks: what `network_factory` has made.
      environment_spec: the spec of the environment to act in.
      evaluation: whether it is the evaluators' policy.

    Raises:
      ValueError: neither the experiment nor its builder can make a policy.
    """
    factory = self.policy_factory
    if evaluation and self.eval_policy_factory is not None:
      factory = self.eval_policy_factory
    if factory is None:
      factory = getattr(self.builder, 'make_policy', None)
    if factory is None:
      raise ValueError(
        f'{type(self.builder).__name__} has no make_policy, so '
        'ExperimentConfig needs a policy_factory.'
      )
    return builders.call_policy_factory(
      factory, networks, environment_spec, evaluation
    )

  def make_watch(self) -> finite.Watch:
    """Returns what one process does about values that are not finite."""
    return finite.Watch(self.non_finite == 'stop')

  def get_checkpointer(self, process: str) -> checkpoint.Checkpointer | None:
    """Returns the checkpointer of one process, or None to save nothing."""
    if self.checkpointing is None:
      return None
    return checkpoint.Checkpointer(self.checkpointing, process)

  def get_journal(self, process: str) -> journal.Journal | None:
    """Returns the journal of one process, or None to save nothing."""
    if self.checkpointing is None:
      return None
    return journal.Journal(f'{self.checkpointing.directory}/{process}.journal')

  def get_timer(self, label: str, task_id: int = 0) -> timing.Timer:
    """Returns the timer of one process; it does nothing without `profile_dir`.

    Args:
      label: the process's group in the program, such as `actor`.
      task_id: the process's place in its group.
    """
    if self.profile_dir is None:
      return timing.NoTimer()
    return timing.TreeTimer(f'{self.profile_dir}/{label}_{task_id}.json')

  def get_replay_checkpointing(self) -> replay.ReplayCheckpointing | None:
    """Returns how replay is saved, or None if it is not."""
    config = self.checkpointing
    if config is None or not config.keep_replay:
      return None
    return replay.ReplayCheckpointing(
      f'{config.directory}/replay', config.every_seconds
    )

  def get_evaluator_factories(self) -> Sequence[factories.EvaluatorFactory]:
    """Returns the given factories, or the default ones."""
    if self.evaluator_factories is not None:
      return self.evaluator_factories
    return [
      evaluators.DefaultEvaluatorFactory(
        self.environment_factory,
        self.network_factory,
        self.make_policy,
        schedule,
        self.logger_factory,
        self.observers,
        evaluator_id,
        self.make_watch(),
      )
      for evaluator_id, schedule in enumerate(self.evaluations)
    ]
