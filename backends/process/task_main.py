"""The process of one task: it runs the task's function and stops on request."""

import gc
import os
import pickle
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from absl import app, flags
from launchpad.launch import worker_manager
from launchpad.nodes.python import node

from backends.process import env_vars, messages, port_guard
from rpc import courier_stand_in
from system import linux, stacks, stops

# Frames of these files are left out at the beginning of a traceback.
_MACHINERY = (__file__, app.__file__, node.__file__)
# If the process was asked to stop, it must end within these seconds after its
# function has returned.
_LEAVE_SECS = 3.0


def renew_randomness() -> None:
  """Seeds NumPy anew, so that forked processes draw different random numbers.

  A fork copies NumPy's global random state. Python's own `random` seeds itself
  anew after a fork.
  """
  numpy = sys.modules.get('numpy')
  if numpy is not None:
    numpy.random.seed()


def run(order: messages.Order) -> NoReturn:
  """Runs the task's function, then ends the process.

  Args:
    order: the task's order. If the function raises an error, its traceback is
      written to standard error and to the file `order.error_path`. If the error
      has an attribute `ends_run` that is true, the exit code is
      `messages.ENDS_RUN`: a restart would not help, so the run ends.
  """
  sys.stdout.reconfigure(line_buffering=True)
  sys.argv = [order.task]
  linux.set_name(order.task)
  stacks.serve()
  try:
    _run_function(order)
    exit_code = 0
  except SystemExit as e:
    exit_code = stops.exit_code(e)
  except BaseException as e:
    exit_code = messages.ENDS_RUN if getattr(e, 'ends_run', False) else 1
    text = _format(e)
    sys.stderr.write(text)
    with open(order.error_path, 'w') as f:
      f.write(text)
  # Flushes and closes files that are part of a reference cycle.
  gc.collect()
  stops.leave(exit_code)


def _run_function(order: messages.Order) -> None:
  env_vars.apply(order.env)
  port_guard.watch(order.ports)
  courier_stand_in.install(
    os.path.dirname(order.function_path), order.interface
  )
  # The function is loaded before the flags are parsed, because the modules that
  # it needs may define flags. No variable keeps the function, so its objects
  # are finalized when it returns.
  with open(order.function_path, 'rb') as f:
    functions = [pickle.load(f)]
  app.run(
    lambda _: _run_as_node(order.task, functions.pop()),
    argv=[order.task, *order.flags],
    flags_parser=lambda argv: flags.FLAGS(argv, known_only=True),
  )


def _run_as_node(name: str, function: Callable[[], Any]) -> None:
  # absl has set the process's name to the part after the slash.
  linux.set_name(name)
  # The launcher kills this process at the end of the grace period. Launchpad's
  # own alarm, which could kill it earlier, is turned off.
  flags.FLAGS.lp_termination_notice_secs = -1
  manager = worker_manager.WorkerManager(register_in_thread=True)
  _stop_in_thread(manager)
  signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
  exit_code = 1
  try:
    function()
    exit_code = 0
  finally:
    if manager.wait_for_stop(0):
      _leave_soon(exit_code)


def _leave_soon(exit_code: int) -> None:
  """Ends this process soon, even if a thread or a library blocks its exit."""
  timer = threading.Timer(_LEAVE_SECS, os._exit, [exit_code])
  timer.daemon = True
  timer.start()


def _stop_in_thread(manager: worker_manager.WorkerManager) -> None:
  """Makes a thread, not the main thread, stop the node on SIGTERM.

  Python runs signal handlers only in the main thread. This thread may be inside
  C++ code, and the handler would have to wait. Or it may be inside
  `lp.wait_for_stop` and hold the lock of the event that Launchpad's handler
  sets. Then the handler would wait for that lock for ever.

  Args:
    manager: the node's worker manager. It has installed Launchpad's handler.
  """
  reader, writer = socket.socketpair()
  writer.setblocking(False)
  # Python writes each signal's number there, even while no handler can run.
  signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
  signal.signal(signal.SIGTERM, lambda *_: None)

  def watch() -> None:
    while True:
      came = reader.recv(64)
      if signal.SIGTERM in came and not manager.wait_for_stop(0):
        manager.stop_and_wait()

  threading.Thread(target=watch, name='sigterm', daemon=True).start()


def _format(error: BaseException) -> str:
  frames = error.__traceback__
  while frames and frames.tb_frame.f_code.co_filename in _MACHINERY:
    frames = frames.tb_next
  return ''.join(traceback.format_exception(type(error), error, frames))


def main() -> None:
  """Runs a spawned process. `argv[2]` holds its order, encoded as JSON."""
  run(messages.decode(sys.argv[2]))
