"""Behavioural cloning of recorded episodes (Pomerleau, 1991).

https://doi.org/10.1162/neco.1991.3.1.88. For discrete actions, and for
continuous ones in [-1, 1]. It learns from a dataset alone, and has no actors.
"""

import compat  # noqa: F401

import haiku as hk
import jax
import jax.numpy as jnp
import optax
from acme import specs
from acme.agents.jax import actor_core, actors, bc, builders
from acme.jax import networks as networks_lib
from acme.jax import variable_utils

from programs.agents import AgentParts, configs, networks, spaces
from programs.data import demonstrations as demonstrations_lib

Config = configs.BC


def make_dataset(
  config: Config, demonstrations: demonstrations_lib.Demonstrations
):
  """Yields batches of the demonstrated transitions."""
  return demonstrations.batches(config.batch_size, config.num_episodes)


class _Builder(builders.ActorLearnerBuilder):
  """Makes Acme's learner, and an actor for its policy; nothing is inserted."""

  def __init__(
    self,
    config: Config,
    loss: bc.Loss,
    logger_fn=lambda: None,
  ):
    self._config = config
    self._loss = loss
    self._logger_fn = logger_fn

  def make_replay_tables(self, environment_spec):
    return []

  def make_adder(self, replay_client):
    return None

  def make_dataset_iterator(self, replay_client):
    raise NotImplementedError('BC has no actors, and so no replay.')

  def make_learner(
    self, random_key, networks, dataset, replay_client=None, counter=None
  ):
    return bc.BCLearner(
      network=networks,
      random_key=random_key,
      loss_fn=self._loss,
      optimizer=optax.adam(self._config.learning_rate),
      demonstrations=dataset,
      num_sgd_steps_per_step=1,
      logger=self._logger_fn(),
      counter=counter,
    )

  def make_actor(
    self, random_key, policy_network, adder=None, variable_source=None
  ):
    return actors.GenericActor(
      actor_core.batched_feed_forward_to_actor_core(policy_network),
      random_key,
      variable_utils.VariableClient(variable_source, 'policy', device='cpu'),
      adder,
      backend='cpu',
    )


def make_agent(
  environment_spec: specs.EnvironmentSpec,
  config: Config,
  demonstrations: demonstrations_lib.Demonstrations,
) -> AgentParts:
  """Returns BC's parts for an experiment."""
  if spaces.is_discrete(environment_spec.actions):
    loss = bc.logp(_log_probability)
    policy = _most_probable
  else:
    loss = bc.mse(lambda action, key: action)
    policy = _given
  return AgentParts(
    builder=_Builder(config, loss),
    network_factory=lambda spec: _make_network(spec, config),
    policy_factory=policy,
  )


def _log_probability(logits: jax.Array, action: jax.Array) -> jax.Array:
  """Returns float32[batch] of float32[batch, actions] and int[batch]."""
  return jnp.take_along_axis(
    jax.nn.log_softmax(logits), action[:, None], axis=-1
  )


def _most_probable(network: networks_lib.FeedForwardNetwork):
  return lambda params, key, observation: jnp.argmax(
    network.apply(params, observation), axis=-1
  )


def _given(network: networks_lib.FeedForwardNetwork):
  return lambda params, key, observation: network.apply(params, observation)


def _make_network(
  spec: specs.EnvironmentSpec, config: Config
) -> networks_lib.FeedForwardNetwork:
  """Returns a network to logits of discrete or to continuous actions."""

  def forward(observation):
    torso = networks.Torso(spec.observations, config.hidden_layer_sizes)
    features = torso(observation)
    if spaces.is_discrete(spec.actions):
      return hk.Linear(spec.actions.num_values)(features)
    return jnp.tanh(hk.Linear(spec.actions.shape[0])(features))

  network = networks.feed_forward(spec, forward)
  # Acme's losses tell the network more than this one asks for.
  return networks_lib.FeedForwardNetwork(
    network.init,
    lambda params, observation, is_training=False, key=None: network.apply(
      params, observation
    ),
  )
