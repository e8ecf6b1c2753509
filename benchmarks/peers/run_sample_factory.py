"""Runs Sample Factory 2 (https://github.com/alex-petrenko/sample-factory)."""

import functools
import pathlib
import sys
import threading
import time

import gymnasium
import progress
from sample_factory import train
from sample_factory.cfg import arguments
from sample_factory.envs import env_utils

_SETTINGS = {
  'env': 'CartPole-v1',
  'algo': 'APPO',
  'device': 'cpu',
  'num_workers': 2,
  'num_envs_per_worker': 16,
  'rollout': 32,
  'batch_size': 128,
  'num_batches_per_epoch': 8,
  'num_epochs': 8,
  'learning_rate': 1e-3,
  # These four are from its own example for CartPole.
  'use_rnn': False,
  'recurrence': 1,
  'with_vtrace': False,
  'reward_scale': 0.1,
  'train_for_env_steps': 10**9,
}


def _make(name, cfg=None, env_config=None, render_mode=None):
  return gymnasium.make(name, render_mode=render_mode)


def _report(runner, path: str) -> None:
  written = progress.Progress(path)
  while True:
    time.sleep(0.2)
    steps = sum(runner.env_steps.values())
    returns = runner.policy_avg_stats.get('reward', [[]])[0]
    written.write(steps, int(steps * 8 * 8 / 1024), tuple(returns))


def main(work: str, path: str) -> None:
  """Trains until it is killed.

  Args:
    work: 'ppo'; its APPO is asynchronous, as this repository's PPO is.
    path: the CSV file for the progress.
  """
  del work
  env_utils.register_env('CartPole-v1', _make)
  flags = [f'--{name}={value}' for name, value in _SETTINGS.items()]
  flags += ['--encoder_mlp_layers', '64', '64']
  flags += [f'--train_dir={pathlib.Path(path).parent}', '--experiment=race']
  parser, _ = arguments.parse_sf_args(argv=flags)
  _, runner = train.make_runner(arguments.parse_full_cfg(parser, flags))
  runner.init()
  report = functools.partial(_report, runner, path)
  threading.Thread(target=report, daemon=True).start()
  runner.run()


if __name__ == '__main__':
  main(*sys.argv[1:])
