"""Rendering without a screen."""

import ctypes.util
import os


def use_no_screen() -> None:
  """Has SDL and MuJoCo render off-screen, unless the user has chosen for them.

  Must run before either is imported. MuJoCo's own first choice, GLFW, aborts
  the process if the machine has no display. Where no off-screen library is
  installed, 'disable' makes rendering raise an exception, and stepping works.
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
