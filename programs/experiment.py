"""An experiment: an agent, an environment, and the number of steps."""

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
  """A complete experiment, which `programs.distributed.make_program` can run.

  Attributes:
    builder: an Acme builder, of the released form (dm-acme 0.4.0) or of the
      later one.
    network_factory: makes the networks from the environment's spec.
    environment_factory: makes an environment from a uint32 seed.
    max_num_actor_steps: the program stops when all actors together have made
      this number of environment steps. None sets no such limit.
    max_num_learner_steps: the program stops when the learner has made this
      number of steps. None sets no such limit.
    envs_per_actor: how many environments each actor process has. One call of
      the policy gives the actions for all of them.
    seed: the number from which every process derives its own random key.
    policy_factory: makes the actors' policy. None asks `builder.make_policy`.
    eval_policy_factory: makes the evaluators' policy. None uses
      `policy_factory`, or else `builder.make_policy`.
    evaluator_factories: one factory for each evaluator. None stands for the
      default evaluators; with an empty sequence there is no evaluator.
    evaluations: one schedule for each default evaluator. Not used if there are
      `evaluator_factories`.
    environment_spec: the environment's spec. None makes an environment to get
      its spec.
    observers: called at every step of the actors and the default evaluators.
    logger_factory: makes each process's logger.
    checkpointing: where and how often state is saved, or None to save nothing.
    variable_names: the names that the learner's `get_variables` is called with,
      to get the variables that actors need.
    profile_dir: the folder where each process writes what it spent its time on.
      None writes nothing.
    non_finite: what a process does when it finds a NaN or an infinity: 'stop'
      ends the run, 'continue' leaves out the data with that number.
    dataset_factory: makes the learner's batches in an offline program. None
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
    """The number of factories that `get_evaluator_factories` returns."""
    if self.evaluator_factories is None:
      return len(self.evaluations)
    return len(self.evaluator_factories)

  def get_environment_spec(self) -> specs.EnvironmentSpec:
    """Returns the given spec, or the spec of an environment that it makes."""
    if self.environment_spec is not None:
      return self.environment_spec
    environment = self.environment_factory(0)
    try:
      return specs.make_environment_spec(environment)
    finally:
      environment.close()

  def get_builder(self) -> builders.Builder:
    """Returns the builder in Acme's later form, which the nodes call."""
    return builders.adapt(self.builder)

  def make_policy(
    self,
    networks: factories.Networks,
    environment_spec: specs.EnvironmentSpec,
    evaluation: bool,
  ) -> factories.Policy:
    """Makes the policy of the actors, or of the evaluators.

    Args:
      networks: the networks that `network_factory` made.
      environment_spec: the spec of the environment to act in.
      evaluation: True makes the evaluators' policy, which does not explore.

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
    """Returns a watch, which does what `non_finite` says, for one process."""
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
      task_id: the process's index in its group, from 0.
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
