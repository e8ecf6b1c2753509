"""The default evaluators, for experiments without `evaluator_factories`."""

import dataclasses
from collections.abc import Sequence

import compat  # noqa: F401

import jax
from acme import core, environment_loop, specs
from acme.jax import utils
from acme.utils import counting
from acme.utils import observers as observers_lib

from nodes import actor as actor_lib
from nodes import counter_client
from nodes import evaluator as evaluator_lib
from nodes import schedule as schedule_lib
from nodes.checks import finite
from programs import builders, factories


@dataclasses.dataclass(frozen=True)
class DefaultEvaluatorFactory:
  """An `EvaluatorFactory` whose evaluator plays with the newest weights.

  Attributes:
    environment_factory: makes the evaluator's environment.
    network_factory: makes the networks from the environment's spec.
    policy_factory: makes the policy; may be of either of Acme's forms.
    schedule: when to evaluate, and for how many episodes.
    logger_factory: makes the logger, which gets one row an episode.
    observers: called at every step.
    evaluator_id: the index of this evaluator, from 0.
    watch: decides what happens at an episode with a NaN or an infinity: it is
      counted and left out, or the run ends. None ends the run.
  """

  environment_factory: factories.EnvironmentFactory
  network_factory: factories.NetworkFactory
  policy_factory: factories.PolicyFactory
  schedule: schedule_lib.Schedule
  logger_factory: factories.LoggerFactory = factories.default_logger_factory
  observers: Sequence[observers_lib.EnvLoopObserver] = ()
  evaluator_id: int = 0
  watch: finite.Watch | None = None

  def __call__(
    self,
    random_key: jax.Array,
    variable_source: core.VariableSource,
    counter: counting.Counter,
    make_actor: factories.ActorFactory,
  ) -> core.Worker:
    environment_key, actor_key = jax.random.split(random_key)
    environment = self.environment_factory(utils.sample_uint32(environment_key))
    environment_spec = specs.make_environment_spec(environment)
    policy = builders.call_policy_factory(
      self.policy_factory,
      self.network_factory(environment_spec),
      environment_spec,
      evaluation=True,
    )
    pinned_source = evaluator_lib.PinnedSource(variable_source)
    actor = make_actor(actor_key, policy, environment_spec, pinned_source)
    logger = self.logger_factory('evaluator', 'actor_steps', self.evaluator_id)
    loop = environment_loop.EnvironmentLoop(
      environment,
      actor,
      counter_client.Counter(counter, 'evaluator', time_delta=0.0),
      logger,
      # All episodes of an evaluation are played with one version.
      should_update=False,
      observers=[*self.observers, actor_lib.WeightsObserver(variable_source)],
    )
    return evaluator_lib.EvaluatorLoop(
      loop,
      actor,
      pinned_source,
      counter.get_counts,
      logger,
      self.schedule,
      self.watch,
    )
