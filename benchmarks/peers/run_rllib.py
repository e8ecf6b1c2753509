"""Runs RLlib (https://docs.ray.io/en/latest/rllib), without Tune."""

import collections
import sys

import progress
import ray
from ray.rllib.algorithms import impala, ppo
from ray.rllib.core.rl_module import default_model_config


# The weights of the losses are those of RLlib's tuned examples for CartPole.
def _ppo():
  return ppo.PPOConfig().training(
    lr=1e-3,
    vf_loss_coeff=0.01,
    lambda_=0.95,
    train_batch_size_per_learner=1024,
    minibatch_size=128,
    num_epochs=8,
  )


def _impala():
  # The sizes of its batches are RLlib's own.
  return impala.IMPALAConfig().training(
    lr=1e-3, vf_loss_coeff=0.05, entropy_coeff=0.0
  )


# For each work: the algorithm, the environments of a runner, and the number of
# gradient steps for an environment step.
_WORKS = {'ppo': (_ppo, 16, 8 * 8 / 1024), 'impala': (_impala, 8, 1 / 500)}


def main(work: str, path: str) -> None:
  """Trains until it is killed.

  Args:
    work: 'ppo' or 'impala'.
    path: the CSV file for the progress.
  """
  make, num_envs, updates_per_step = _WORKS[work]
  ray.init(include_dashboard=False, log_to_driver=False)
  model = default_model_config.DefaultModelConfig(
    fcnet_hiddens=[64, 64], vf_share_layers=True
  )
  algorithm = (
    make()
    .environment('CartPole-v1')
    .env_runners(num_env_runners=2, num_envs_per_env_runner=num_envs)
    .learners(num_learners=0)
    .rl_module(model_config=model)
    .reporting(
      metrics_num_episodes_for_smoothing=progress.EPISODES,
      min_time_s_per_iteration=0,
    )
    .build_algo()
  )
  written = progress.Progress(path)
  returns = collections.deque(maxlen=progress.EPISODES)
  while True:
    runners = algorithm.train()['env_runners']
    steps = int(runners.get('num_env_steps_sampled_lifetime', 0))
    mean = runners.get('episode_return_mean', float('nan'))
    returns.extend([mean] * progress.EPISODES)
    written.write(steps, int(steps * updates_per_step), returns)


if __name__ == '__main__':
  main(*sys.argv[1:])
