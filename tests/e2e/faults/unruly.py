"""Environments that misbehave, for `--env=module:...`."""

import os

import gymnasium
import numpy as np
from gymnasium import spaces


class _Walk(gymnasium.Env):
  """Draws random observations; notes in a file when it is made and closed."""

  def __init__(self, length=20, bad_at=None):
    self.observation_space = spaces.Box(-1, 1, (3,), np.float32)
    self.action_space = spaces.Box(-2, 2, (1,), np.float32)
    self._length, self._bad_at = length, bad_at
    self._steps = self._all_steps = 0
    self._note('made')

  def reset(self, *, seed=None, options=None):
    super().reset(seed=seed)
    self._steps = 0
    return self.observation_space.sample(), {}

  def step(self, action):
    self._steps += 1
    self._all_steps += 1
    reward = np.nan if self._all_steps == self._bad_at else 1.0
    done = self._steps == self._length
    return self.observation_space.sample(), reward, done, False, {}

  def close(self):
    self._note('closed')

  def _note(self, what):
    with open(os.environ['NOTES'], 'a') as f:
      f.write(f'{what} by {os.getpid()}\n')


def endless(seed):
  return _Walk(length=None)


def one_nan(seed):
  return _Walk(bad_at=300)
