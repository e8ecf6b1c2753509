"""Rendering without a screen."""

import ctypes.util
import os


def use_no_screen() -> None:
  """Makes SDL and MuJoCo render off-screen, unless the user chose otherwise.

  It must run before either of them is imported. MuJoCo's own first choice is
  GLFW, which aborts the process if the machine has no display. If no off-screen
  library is installed, the choice 'disable' makes rendering raise an exception,
  but the environment can take steps.
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
