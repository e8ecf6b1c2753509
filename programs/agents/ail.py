"""Adversarial imitation: GAIL's discriminator, off-policy, with SAC.

Ho and Ermon, 2016, https://arxiv.org/abs/1606.03476; Kostrikov et al., 2019,
https://arxiv.org/abs/1809.02925. A discriminator learns to tell the agent's
transitions from recorded ones, and SAC learns to deceive it. For continuous
actions in [-1, 1].
"""

import dataclasses

from programs.agents import sac
from programs.agents.shared import description, limits, off_policy


@dataclasses.dataclass(frozen=True)
class Config(off_policy.Config):
  """Settings of AIL.

  Attributes:
    tau: how far SAC's targets move towards the learned weights at each gradient
      step, from 0 to 1.
    discriminator_learning_rate: step size of the discriminator's optimizer,
      Adam.
    entropy_coefficient: weight of the discriminator's entropy in its loss.
    num_episodes: number of episodes to imitate: the last ones recorded.
  """

  tau: limits.Share = 0.005
  discriminator_learning_rate: limits.NonNegative = 3e-4
  entropy_coefficient: limits.NonNegative = 1e-3
  num_episodes: limits.Count = 20


def make_parts(
  environment_spec: description.EnvironmentSpec,
  config: Config,
  demonstrations: description.Demonstrations,
) -> description.AgentParts:
  """Returns AIL's parts for an experiment."""
  import optax
  from acme.agents.jax import ail
  from acme.agents.jax import sac as acme_sac
  from acme.utils import loggers

  sac_builder = acme_sac.SACBuilder(
    sac.make_acme_config(environment_spec, config),
    # Both learners count the same steps, so only one of them logs.
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
  return description.AgentParts(
    builder=builder,
    network_factory=lambda spec: _make_networks(spec, config),
    policy_factory=lambda networks: acme_sac.apply_policy_and_sample(
      networks.direct_rl_networks
    ),
    eval_policy_factory=lambda networks: acme_sac.apply_policy_and_sample(
      networks.direct_rl_networks, eval_mode=True
    ),
  )


def _make_networks(spec: description.EnvironmentSpec, config: Config):
  import haiku as hk
  from acme.agents.jax import ail
  from acme.agents.jax import sac as acme_sac

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
    direct_rl_networks=acme_sac.make_networks(spec, config.hidden_layer_sizes),
  )


def make_dataset(config: Config, demonstrations: description.Demonstrations):
  """Yields batches for the offline program.

  All recorded transitions stand for the agent's own. Those of the last episodes
  are also the ones to imitate.

  Args:
    config: the agent's settings.
    demonstrations: the recorded episodes.
  """
  from acme.agents.jax.ail import learning

  from programs.data import demonstrations as demonstrations_lib

  shown = demonstrations.batches(config.batch_size, config.num_episodes)
  for sample in demonstrations_lib.replay_samples(config, demonstrations):
    yield learning.AILSample(sample.data, sample, next(shown))


AGENT = dataclasses.replace(
  sac.AGENT,
  config_type=Config,
  make_parts=make_parts,
  learns_from=description.LearnsFrom.ACTORS_AND_DEMONSTRATIONS,
  make_dataset=make_dataset,
)
