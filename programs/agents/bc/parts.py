"""BC's builder, losses, policies and network."""

from collections.abc import Callable, Iterator

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import optax
import reverb
from acme import adders, core, specs, types
from acme.agents.jax import actor_core, actors
from acme.agents.jax import bc as acme_bc
from acme.jax import networks as networks_lib
from acme.jax import variable_utils
from acme.utils import counting, loggers

from programs.agents.shared import description, networks, spaces


class _Builder:
  """A `programs.builders.Builder` with Acme's learner for BC.

  Its actors record nothing: only the evaluators use them.
  """

  def __init__(self, config: description.Config, loss: acme_bc.Loss):
    self._config = config
    self._loss = loss

  def make_replay_tables(
    self,
    environment_spec: specs.EnvironmentSpec,
    policy: actor_core.FeedForwardPolicy,
  ) -> list[reverb.Table]:
    return []

  def make_adder(
    self,
    replay_client: reverb.Client,
    environment_spec: specs.EnvironmentSpec | None,
    policy: actor_core.FeedForwardPolicy | None,
  ) -> None:
    return None

  def make_dataset_iterator(self, replay_client: reverb.Client) -> Iterator:
    raise NotImplementedError('BC has no actors, so it has no replay.')

  def make_actor(
    self,
    random_key: jax.Array,
    policy: actor_core.FeedForwardPolicy,
    environment_spec: specs.EnvironmentSpec,
    variable_source: core.VariableSource | None = None,
    adder: adders.Adder | None = None,
  ) -> actors.GenericActor:
    return actors.GenericActor(
      actor_core.batched_feed_forward_to_actor_core(policy),
      random_key,
      variable_utils.VariableClient(variable_source, 'policy', device='cpu'),
      adder,
      backend='cpu',
    )

  def make_learner(
    self,
    random_key: jax.Array,
    network: networks_lib.FeedForwardNetwork,
    dataset: Iterator[types.Transition],
    logger_fn: Callable[..., loggers.Logger],
    environment_spec: specs.EnvironmentSpec,
    replay_client: reverb.Client | None = None,
    counter: counting.Counter | None = None,
  ) -> acme_bc.BCLearner:
    return acme_bc.BCLearner(
      network=network,
      random_key=random_key,
      loss_fn=self._loss,
      optimizer=optax.adam(self._config.learning_rate),
      demonstrations=dataset,
      num_sgd_steps_per_step=1,
      logger=logger_fn('learner', 'learner_steps', 0),
      counter=counter,
    )


def make(
  environment_spec: specs.EnvironmentSpec, config: description.Config
) -> description.AgentParts:
  """Returns the parts for an experiment."""
  if spaces.is_discrete(environment_spec.actions):
    loss = acme_bc.logp(_log_probability)
    policy_factory = _most_probable_action
  else:
    loss = acme_bc.mse(lambda action, key: action)
    policy_factory = _networks_action
  return description.AgentParts(
    builder=_Builder(config, loss),
    network_factory=lambda spec: _make_network(spec, config),
    policy_factory=policy_factory,
  )


def _log_probability(logits: jax.Array, action: jax.Array) -> jax.Array:
  """Returns the log probabilities of actions.

  Args:
    logits: float32[batch, actions].
    action: int[batch], the chosen actions.

  Returns:
    float32[batch, 1].
  """
  return jnp.take_along_axis(
    jax.nn.log_softmax(logits), action[:, None], axis=-1
  )


def _most_probable_action(network: networks_lib.FeedForwardNetwork):
  return lambda params, key, observation: jnp.argmax(
    network.apply(params, observation), axis=-1
  )


def _networks_action(network: networks_lib.FeedForwardNetwork):
  return lambda params, key, observation: network.apply(params, observation)


def _make_network(
  spec: specs.EnvironmentSpec, config: description.Config
) -> networks_lib.FeedForwardNetwork:
  """Returns a network from observations to actions.

  Its output is float32[batch, actions]: the logits of discrete actions, or
  continuous actions in [-1, 1].
  """

  def forward(observation):
    torso = networks.Torso(spec.observations, config.hidden_layer_sizes)
    features = torso(observation)
    if spaces.is_discrete(spec.actions):
      return hk.Linear(spec.actions.num_values)(features)
    return jnp.tanh(hk.Linear(spec.actions.shape[0])(features))

  network = networks.feed_forward(spec, forward)
  # Acme's losses call the network with two more arguments.
  return networks_lib.FeedForwardNetwork(
    network.init,
    lambda params, observation, is_training=False, key=None: network.apply(
      params, observation
    ),
  )
