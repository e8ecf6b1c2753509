"""Adversarial imitation: GAIL's discriminator, off-policy, with SAC.

Ho and Ermon, 2016, https://arxiv.org/abs/1606.03476; Kostrikov et al., 2019,
https://arxiv.org/abs/1809.02925. A discriminator learns to tell the agent's
transitions from recorded ones, and SAC to be taken for them. For continuous
actions in [-1, 1].
"""

import compat  # noqa: F401

import haiku as hk
import optax
from acme import specs
from acme.agents.jax import ail, sac
from acme.agents.jax.ail import learning as ail_learning
from acme.utils import loggers

from programs.agents import AgentParts, configs
from programs.data import demonstrations as demonstrations_lib

Config = configs.AIL


def make_dataset(
  config: Config, demonstrations: demonstrations_lib.Demonstrations
):
  """Yields all recorded transitions as the agent's, the last as the others'."""
  shown = demonstrations.batches(config.batch_size, config.num_episodes)
  for sample in demonstrations_lib.replay_samples(config, demonstrations):
    yield ail_learning.AILSample(sample.data, sample, next(shown))


def make_agent(
  environment_spec: specs.EnvironmentSpec,
  config: Config,
  demonstrations: demonstrations_lib.Demonstrations,
) -> AgentParts:
  """Returns AIL's parts for an experiment."""
  sac_builder = sac.SACBuilder(
    sac.SACConfig(
      **config.for_acme(),
      learning_rate=config.learning_rate,
      target_entropy=sac.target_entropy_from_env_spec(environment_spec),
      tau=config.tau,
    ),
    # Both learners count the same steps; one of them logs.
    logger_fn=loggers.NoOpLogger,
  )
  builder = ail.AILBuilder(
    sac_builder,
    ail.AILConfig(
      direct_rl_batch_size=config.batch_size,
      discriminator_batch_size=config.batch_size,
      discriminator_optimizer=optax.adam(config.discriminator_learning_rate),
    ),
    ail.losses.gail_loss(config.entropy_coefficient),
    lambda size: demonstrations.batches(size, config.num_episodes),
  )
  return AgentParts(
    builder=builder,
    network_factory=lambda spec: _make_networks(spec, config),
    policy_factory=lambda networks: sac.apply_policy_and_sample(
      networks.direct_rl_networks
    ),
    eval_policy_factory=lambda networks: sac.apply_policy_and_sample(
      networks.direct_rl_networks, eval_mode=True
    ),
  )


def _make_networks(
  spec: specs.EnvironmentSpec, config: Config
) -> ail.AILNetworks:
  def discriminator(*inputs):
    return ail.DiscriminatorModule(
      environment_spec=spec,
      use_action=True,
      use_next_obs=False,
      network_core=ail.DiscriminatorMLP(config.hidden_layer_sizes),
    )(*inputs)

  return ail.AILNetworks(
    ail.make_discriminator(
      spec, hk.without_apply_rng(hk.transform_with_state(discriminator))
    ),
    imitation_reward_fn=ail.rewards.gail_reward(),
    direct_rl_networks=sac.make_networks(spec, config.hidden_layer_sizes),
  )
