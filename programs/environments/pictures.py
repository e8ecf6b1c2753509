"""Pictures of environments, made without a screen."""

import dm_env
import numpy as np

from programs.environments import errors

_HEIGHT, _WIDTH = 480, 640
_FRAMES_PER_SECOND = 30.0


def picture(environment: dm_env.Environment) -> np.ndarray:
  """Returns a picture of an environment's state: uint8[height, width, 3].

  Args:
    environment: an environment from an environment factory. It must have been
      reset.

  Raises:
    CannotRenderError: the environment cannot be drawn, or this machine cannot
      draw it.
  """
  try:
    if hasattr(environment, 'physics'):  # It is from the Control Suite.
      image = environment.physics.render(_HEIGHT, _WIDTH, camera_id=0)
    else:
      image = environment.render()
  except Exception as e:  # Each family and each driver has its own errors.
    raise errors.CannotRenderError(f'it cannot be drawn: {e}') from e
  image = np.asarray(image)
  if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
    raise errors.CannotRenderError(
      'it cannot be drawn: its render() does not return uint8[height, width, 3]'
    )
  return image


def frames_per_second(environment: dm_env.Environment) -> float:
  """Returns the number of an environment's steps in a second of its time."""
  if hasattr(environment, 'control_timestep'):  # It is from the Control Suite.
    return 1 / environment.control_timestep()
  metadata = getattr(environment, 'metadata', {})
  return float(metadata.get('render_fps') or _FRAMES_PER_SECOND)
