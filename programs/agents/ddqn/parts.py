"""All parts of DDQN: its loss, learner, builder and network.

Nothing here comes from one of Acme's agents. The builder uses Acme's generic
actor, and keeps transitions in replay as rows of bytes. It has the later form
of Acme's builders, and makes these parts for the program's processes:

  replay server   make_replay_tables
  actor           make_policy, make_adder, make_actor
  learner         make_dataset_iterator, make_learner
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import optax
import reverb
import rlax
from acme import adders, core, specs, types
from acme.adders import reverb as reverb_adders
from acme.agents.jax import actor_core, actors
from acme.jax import networks as networks_lib
from acme.jax import utils, variable_utils
from acme.utils import counting, loggers

from programs.agents.shared import description, networks
from replay import batches, transition_adder, transition_layout

# A function of parameters, a random key and one observation, which returns an
# action.
Policy = Callable[[hk.Params, jax.Array, Any], jax.Array]

_TABLE = 'transitions'


class State(NamedTuple):
  """The learner's state, which a checkpoint saves."""

  params: hk.Params
  target_params: hk.Params
  optimizer_state: optax.OptState
  steps: jax.Array


def make_loss(
  network: networks_lib.FeedForwardNetwork, config: description.Config
) -> Callable[[hk.Params, hk.Params, types.Transition], jax.Array]:
  """Returns the loss function: the mean Huber loss of the TD errors."""

  def loss(params, target_params, batch):
    errors = jax.vmap(rlax.double_q_learning)(
      network.apply(params, batch.observation),
      batch.action,
      batch.reward,
      config.discount * batch.discount,
      network.apply(target_params, batch.next_observation),
      network.apply(params, batch.next_observation),
    )
    return jnp.mean(rlax.huber_loss(errors))

  return loss


class Learner(core.Learner):
  """Takes gradient steps on batches of transitions."""

  def __init__(
    self,
    network: networks_lib.FeedForwardNetwork,
    config: description.Config,
    random_key: jax.Array,
    dataset: Iterator[reverb.ReplaySample],
    logger: loggers.Logger,
    counter: counting.Counter,
  ):
    optimizer = optax.adam(config.learning_rate)
    loss = make_loss(network, config)

    @jax.jit
    def update(state: State, batch: types.Transition):
      value, gradients = jax.value_and_grad(loss)(
        state.params, state.target_params, batch
      )
      updates, optimizer_state = optimizer.update(
        gradients, state.optimizer_state
      )
      params = optax.apply_updates(state.params, updates)
      steps = state.steps + 1
      target_params = optax.periodic_update(
        params, state.target_params, steps, config.target_update_period
      )
      return State(params, target_params, optimizer_state, steps), value

    params = network.init(random_key)
    self._state = State(
      params, params, optimizer.init(params), jnp.zeros((), jnp.int32)
    )
    self._update = update
    self._dataset = dataset
    self._logger = logger
    self._counter = counter
    self._stepped_at: float | None = None

  def step(self) -> None:
    batch = types.Transition(*next(self._dataset).data)
    self._state, value = self._update(self._state, batch)
    now = time.monotonic()
    seconds = now - (self._stepped_at or now)
    self._stepped_at = now
    counts = self._counter.increment(steps=1, walltime=seconds)
    self._logger.write({'loss': value, **counts})

  def get_variables(self, names: Sequence[str]) -> list[hk.Params]:
    return [{'policy': self._state.params}[name] for name in names]

  def save(self) -> State:
    return self._state

  def restore(self, state: State) -> None:
    self._state = state


class Builder:
  """Makes DDQN's parts; it is a `programs.builders.Builder`."""

  def __init__(
    self, environment_spec: specs.EnvironmentSpec, config: description.Config
  ):
    self._config = config
    self._layout = transition_layout.TransitionLayout(
      reverb_adders.NStepTransitionAdder.signature(environment_spec)
    )

  def make_replay_tables(
    self, environment_spec: specs.EnvironmentSpec, policy: Policy
  ) -> list[reverb.Table]:
    config = self._config
    samples_per_insert = config.batch_size * config.gradient_steps_per_step
    limiter = reverb.rate_limiters.SampleToInsertRatio(
      samples_per_insert,
      config.min_replay_size,
      # The ratio may be off by this much, so that neither the actors nor the
      # learner waits at each step.
      error_buffer=0.1 * samples_per_insert * config.min_replay_size,
    )
    return [
      reverb.Table(
        _TABLE,
        sampler=reverb.selectors.Uniform(),
        remover=reverb.selectors.Fifo(),
        max_size=config.max_replay_size,
        rate_limiter=limiter,
        signature=self._layout.signature,
      )
    ]

  def make_adder(
    self,
    replay_client: reverb.Client,
    environment_spec: specs.EnvironmentSpec | None,
    policy: Policy | None,
  ) -> adders.Adder:
    return transition_adder.TransitionAdder(
      replay_client,
      _TABLE,
      self._layout,
      self._config.n_step,
      self._config.discount,
    )

  def make_dataset_iterator(
    self, replay_client: reverb.Client
  ) -> Iterator[reverb.ReplaySample]:
    return batches.batches(
      replay_client.server_address,
      _TABLE,
      self._layout,
      self._config.batch_size,
    )

  def make_policy(
    self,
    network: networks_lib.FeedForwardNetwork,
    environment_spec: specs.EnvironmentSpec,
    evaluation: bool,
  ) -> Policy:
    epsilon = 0.0 if evaluation else self._config.epsilon

    def policy(params, key, observation):
      values = network.apply(params, utils.add_batch_dim(observation))[0]
      return rlax.epsilon_greedy(epsilon).sample(key, values)

    return policy

  def make_actor(
    self,
    random_key: jax.Array,
    policy: Policy,
    environment_spec: specs.EnvironmentSpec,
    variable_source: core.VariableSource | None = None,
    adder: adders.Adder | None = None,
  ) -> actors.GenericActor:
    def select_action(params, observation, key):
      """Takes an actor's step; the actor's state is its random key."""
      key, policy_key = jax.random.split(key)
      return policy(params, policy_key, observation), key

    return actors.GenericActor(
      actor_core.ActorCore(
        init=lambda key: key,
        select_action=select_action,
        get_extras=lambda key: None,
      ),
      random_key,
      variable_utils.VariableClient(variable_source, 'policy', device='cpu'),
      adder,
    )

  def make_learner(
    self,
    random_key: jax.Array,
    network: networks_lib.FeedForwardNetwork,
    dataset: Iterator[reverb.ReplaySample],
    logger_fn: Callable[..., loggers.Logger],
    environment_spec: specs.EnvironmentSpec,
    replay_client: reverb.Client | None = None,
    counter: counting.Counter | None = None,
  ) -> Learner:
    return Learner(
      network,
      self._config,
      random_key,
      dataset,
      logger_fn('learner', 'learner_steps', 0),
      counter or counting.Counter(),
    )


def make(
  environment_spec: specs.EnvironmentSpec, config: description.Config
) -> description.AgentParts:
  """Returns the parts for an experiment."""
  return description.AgentParts(
    builder=Builder(environment_spec, config),
    network_factory=lambda spec: networks.action_values(
      spec, config.hidden_layer_sizes
    ),
  )
