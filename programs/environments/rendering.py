"""Rendering without a screen."""

import ctypes.util
import os


def use_no_screen() -> None:
  """Sets what SDL and MuJoCo look at first, unless the user has set it.

  Must run before either is imported. MuJoCo's own first choice, GLFW, aborts
  the process where there is no display; without an off-screen library,
  'disable' makes rendering an exception and leaves stepping alone.
  """
  os.environ.setdefault('SDL_VIDEODRIVER', 'dummy')
  if 'MUJOCO_GL' in os.environ:
    return
  if ctypes.util.find_library('EGL'):
    os.environ['MUJOCO_GL'] = 'egl'
  elif ctypes.util.find_library('OSMesa'):
    os.environ['MUJOCO_GL'] = 'osmesa'
  else:
    os.environ['MUJOCO_GL'] = 'disable'
