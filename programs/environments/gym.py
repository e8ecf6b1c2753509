"""Gymnasium's environments: classic control, Box2D, MuJoCo and Atari."""

from collections.abc import Sequence
from typing import Any

import dm_env
import gymnasium
import numpy as np
from gymnasium.envs import registration

from programs import own_modules
from programs.environments import errors, spaces

# Keys: how an entry point starts. Values: the modules that its environments
# need, and the extra in setup.cfg that installs them.
_EXTRAS = {
  'ale_py': (('ale_py', 'cv2'), 'atari'),
  'gymnasium.envs.box2d': (('Box2D', 'pygame'), 'box2d'),
  'gymnasium.envs.mujoco': (('mujoco', 'imageio'), 'mujoco'),
}
# The entry points of Gymnasium's and Atari's environments start with these.
_NOT_OWN = ('gymnasium.', 'ale_py')
_STACKED_FRAMES = 4


class GymnasiumEnvironment(dm_env.Environment):
  """A Gymnasium environment with dm_env's interface.

  If an episode is terminated, the discount of its last step is 0. If it is
  truncated, the discount of its last step is 1, so that agents bootstrap there.
  """

  def __init__(self, environment: gymnasium.Env, seed: int):
    """Wraps an environment.

    Args:
      environment: the environment. It must not have been reset yet.
      seed: a uint32 for its first reset and for its action space. Later resets
        continue with the same random numbers, so that episodes differ.

    Raises:
      ValueError: specs cannot describe a space of this kind.
    """
    self._environment = environment
    self._seed = seed
    self._reset_next_step = True
    self._observation_spec = spaces.to_spec(
      environment.observation_space, 'observation'
    )
    self._action_spec = spaces.to_spec(environment.action_space, 'action')
    environment.action_space.seed(seed)

  @property
  def unwrapped(self) -> gymnasium.Env:
    """The environment inside all wrappers, for observers to look at."""
    return self._environment.unwrapped

  @property
  def metadata(self) -> dict[str, Any]:
    """The environment's metadata, such as its frames per second."""
    return self._environment.metadata

  def reset(self) -> dm_env.TimeStep:
    observation, _ = _parts(
      'reset', ('observation', 'info'), self._environment.reset(seed=self._seed)
    )
    self._seed = None
    self._reset_next_step = False
    return dm_env.restart(self._to_arrays(observation))

  def step(self, action) -> dm_env.TimeStep:
    if self._reset_next_step:
      return self.reset()
    action = spaces.to_action(self._environment.action_space, action)
    observation, reward, terminated, truncated, _ = _parts(
      'step',
      ('observation', 'reward', 'terminated', 'truncated', 'info'),
      self._environment.step(action),
    )
    observation = self._to_arrays(observation)
    self._reset_next_step = terminated or truncated
    if terminated:
      return dm_env.termination(reward, observation)
    if truncated:
      return dm_env.truncation(reward, observation)
    return dm_env.transition(reward, observation)

  def observation_spec(self):
    return self._observation_spec

  def action_spec(self):
    return self._action_spec

  def render(self) -> np.ndarray:
    """Returns a picture: uint8[height, width, 3]."""
    return self._environment.render()

  def close(self) -> None:
    self._environment.close()

  def _to_arrays(self, observation):
    return spaces.to_arrays(self._environment.observation_space, observation)


def _parts(method: str, names: Sequence[str], result: Any) -> tuple[Any, ...]:
  """Returns a method's result as a tuple, and checks its number of parts.

  Environments for older versions of Gym return another number of parts.

  Args:
    method: the method's name, for the error.
    names: the names of the parts that Gymnasium's method returns.
    result: what the environment's method returned.

  Raises:
    UnfitEnvironmentError: the number of parts is wrong.
  """
  is_several = isinstance(result, tuple | list)
  if not is_several or len(result) != len(names):
    count = f' of {len(result)}' if is_several else ''
    raise errors.UnfitEnvironmentError(
      f"{method}() gives a {type(result).__name__}{count}; Gymnasium's gives "
      f'({", ".join(names)})'
    )
  return tuple(result)


def check(name: str) -> None:
  """Raises `UnknownEnvironmentError` unless Gymnasium can make `name`.

  Args:
    name: an id such as 'CartPole-v1', or 'package:Id-v0' if importing the
      package registers the id.
  """
  _find_spec(name)


def make(name: str, seed: int) -> dm_env.Environment:
  """Returns the environment.

  Atari games get the usual preprocessing. An agent sees every 4th frame, in
  grey and of 84x84 pixels, as the maximum of two frames. An observation is the
  last 4 of these frames: uint8[84, 84, 4]. An episode starts with up to 30
  no-ops. A lost life does not end it. Rewards are the game's own, so returns
  are scores. Agents may clip them: Acme's DQN, IMPALA and R2D2 have settings
  for that.

  Args:
    name: the name that `check` takes.
    seed: a uint32.
  """
  spec = _find_spec(name)
  kwargs = {}
  if _can_be_rendered(spec):
    kwargs['render_mode'] = 'rgb_array'
  if _is_atari(spec):
    _silence_ale()
    # The preprocessing skips frames itself.
    kwargs['frameskip'] = 1
  try:
    environment = gymnasium.make(spec, **kwargs)
  except (ImportError, gymnasium.error.Error) as e:
    # If a user's own environment raises an error, its name is not wrong.
    if not _module(spec).startswith(_NOT_OWN):
      raise
    raise errors.UnknownEnvironmentError(
      f'gym:{name} cannot be made: {e}'
    ) from e
  if _is_atari(spec):
    environment = _preprocess_atari(environment)
  return GymnasiumEnvironment(environment, seed)


def _find_spec(name: str) -> registration.EnvSpec:
  package, _, environment_id = name.rpartition(':')
  if environment_id.startswith('ALE/'):
    errors.require(f'gym:{name}', *_EXTRAS['ale_py'])
    package = 'ale_py'
  try:
    if package:
      own_modules.load(package)
    spec = gymnasium.spec(environment_id)
  except (ValueError, gymnasium.error.Error) as e:
    near = errors.nearest(environment_id, gymnasium.registry, 'gym:')
    raise errors.UnknownEnvironmentError(
      f'gym:{name} is not an environment of Gymnasium; nearest: {near} ({e})'
    ) from e
  for start, needs in _EXTRAS.items():
    if _module(spec).startswith(start):
      errors.require(f'gym:{name}', *needs)
  return spec


def _module(spec: registration.EnvSpec) -> str:
  """Returns a text that starts with the module of an environment's class."""
  entry = spec.entry_point
  return str(getattr(entry, '__module__', '') if callable(entry) else entry)


def _is_atari(spec: registration.EnvSpec) -> bool:
  return _module(spec).startswith('ale_py')


def _can_be_rendered(spec: registration.EnvSpec) -> bool:
  creator = spec.entry_point
  if not callable(creator):
    creator = registration.load_env_creator(creator)
  metadata = getattr(creator, 'metadata', None) or {}
  return 'rgb_array' in metadata.get('render_modes', ())


def _silence_ale() -> None:
  import ale_py

  ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


def _preprocess_atari(environment: gymnasium.Env) -> gymnasium.Env:
  environment = gymnasium.wrappers.AtariPreprocessing(environment)
  environment = gymnasium.wrappers.FrameStackObservation(
    environment, _STACKED_FRAMES
  )
  height_width = environment.observation_space.shape[1:]
  return gymnasium.wrappers.TransformObservation(
    environment,
    # Acme's networks expect the frames on the axis of the channels.
    lambda frames: np.ascontiguousarray(np.moveaxis(frames, 0, -1)),
    gymnasium.spaces.Box(0, 255, (*height_width, _STACKED_FRAMES), np.uint8),
  )
