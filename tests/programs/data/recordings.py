"""Records episodes of an actor that takes random actions."""

import numpy as np
from acme import core, environment_loop, specs
from acme.utils import loggers

from programs import environments
from programs.data import demonstrations, recording


class _RandomActor(core.Actor):
  def __init__(self, spec: specs.BoundedArray):
    self._spec = spec
    self._random = np.random.default_rng(0)

  def select_action(self, observation):
    if isinstance(self._spec, specs.DiscreteArray):
      return np.asarray(
        self._random.integers(self._spec.num_values), self._spec.dtype
      )
    return self._random.uniform(-1, 1, self._spec.shape).astype(np.float32)

  def observe_first(self, timestep):
    pass

  def observe(self, action, next_timestep):
    pass

  def update(self, wait=False):
    pass


def record(run_dir, env: str, num_episodes: int):
  """Records episodes; returns the demonstrations and the episodes' returns."""
  environment = environments.make_environment_factory(env)(0)
  spec = specs.make_environment_spec(environment)
  loop = environment_loop.EnvironmentLoop(
    environment,
    _RandomActor(spec.actions),
    logger=loggers.NoOpLogger(),
    observers=[recording.Recorder(run_dir)],
  )
  returns = [
    float(loop.run_episode()['episode_return']) for _ in range(num_episodes)
  ]
  return demonstrations.Demonstrations(str(run_dir), spec), returns
