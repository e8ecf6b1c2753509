"""Pictures of environments, made without a screen."""

import dm_env
import numpy as np

from programs.environments import errors

_HEIGHT, _WIDTH = 480, 640
_FRAMES_PER_SECOND = 30.0


def picture(environment: dm_env.Environment) -> np.ndarray:
  """Returns what an environment looks like now: uint8[height, width, 3].

  Args:
    environment: made by an environment factory, and reset since.

  Raises:
    CannotRenderError: it cannot be drawn, or not on this machine.
  """
  try:
    if hasattr(environment, 'physics'):  # It is the Control Suite's.
      image = environment.physics.render(_HEIGHT, _WIDTH, camera_id=0)
    else:
      image = environment.render()
  except Exception as e:  # Each family and each driver has its own errors.
    raise errors.CannotRenderError(f'it cannot be drawn: {e}') from e
  image = np.asarray(image)
  if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
    raise errors.CannotRenderError(
      'it cannot be drawn: its render() gives no uint8[height, width, 3]'
    )
  return image


def frames_per_second(environment: dm_env.Environment) -> float:
  """Returns how many steps of an environment are a second of its time."""
  if hasattr(environment, 'control_timestep'):  # It is the Control Suite's.
    return 1 / environment.control_timestep()
  metadata = getattr(environment, 'metadata', {})
  return float(metadata.get('render_fps') or _FRAMES_PER_SECOND)
