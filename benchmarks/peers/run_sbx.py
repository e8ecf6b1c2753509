"""Runs SBX (https://github.com/araffin/sbx): JAX in one process."""

import sys

import progress
from sbx import PPO, SAC
from stable_baselines3.common import callbacks, env_util

_ENDLESS = 10**9


class _Report(callbacks.BaseCallback):
  def __init__(self, path: str, updates_per_step: float):
    super().__init__()
    self._progress = progress.Progress(path)
    self._updates_per_step = updates_per_step

  def _on_step(self) -> bool:
    self._progress.write(
      self.num_timesteps,
      int(self.num_timesteps * self._updates_per_step),
      (episode['r'] for episode in self.model.ep_info_buffer),
    )
    return True


def main(work: str, path: str, at_once: str = '1') -> None:
  """Trains until it is killed.

  Args:
    work: 'sac' or 'ppo'.
    path: the CSV file for the progress.
    at_once: how many environment steps SAC takes, and then as many gradient
      steps.
  """
  networks = {'net_arch': [64, 64]}
  # SAC's learning rate is RL Zoo's for Pendulum, and PPO's is the one it
  # begins with for CartPole. The sizes and the random start are
  # those of all sides; the rest is SBX's own.
  if work == 'sac':
    agent = SAC(
      'MlpPolicy',
      'Pendulum-v1',
      learning_rate=1e-3,
      batch_size=256,
      learning_starts=1000,
      train_freq=int(at_once),
      gradient_steps=int(at_once),
      policy_kwargs=networks,
    )
    agent.learn(_ENDLESS, callback=_Report(path, 1.0))
  else:
    agent = PPO(
      'MlpPolicy',
      env_util.make_vec_env('CartPole-v1', 32),
      learning_rate=1e-3,
      n_steps=32,
      batch_size=128,
      n_epochs=8,
      policy_kwargs=networks,
    )
    agent.learn(_ENDLESS, callback=_Report(path, 8 * 8 / 1024))


if __name__ == '__main__':
  main(*sys.argv[1:])
