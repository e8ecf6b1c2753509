"""The process of one task: runs its function, and ends when asked to."""

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

# Files whose frames are left out at the head of a traceback.
_MACHINERY = (__file__, app.__file__, node.__file__)
# Seconds that a process which was asked to stop, and whose function has
# returned, has to end.
_LEAVE_SECS = 3.0


def renew_randomness() -> None:
  """Gives a forked process random numbers that are not its siblings'.

  Python's own `random` renews itself after a fork; NumPy's global state stays.
  """
  numpy = sys.modules.get('numpy')
  if numpy is not None:
    numpy.random.seed()


def run(order: messages.Order) -> NoReturn:
  """Runs the task's function, then ends the process.

  Args:
    order: the task's order. The traceback of what its function raises goes to
      standard error and to the file at `order.error_path`. If the error has a
      true attribute `ends_run`, a restart would raise it again, so that the
      process asks for none.
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
  gc.collect()  # A file in a cycle of references is flushed and closed.
  stops.leave(exit_code)


def _run_function(order: messages.Order) -> None:
  env_vars.apply(order.env)
  port_guard.watch(order.ports)
  courier_stand_in.install(
    os.path.dirname(order.function_path), order.interface
  )
  # Loaded before the flags are parsed, because the modules that it needs may
  # define some. No variable keeps it, so that what it made is finalized when it
  # returns.
  with open(order.function_path, 'rb') as f:
    functions = [pickle.load(f)]
  app.run(
    lambda _: _run_as_node(order.task, functions.pop()),
    argv=[order.task, *order.flags],
    flags_parser=lambda argv: flags.FLAGS(argv, known_only=True),
  )


def _run_as_node(name: str, function: Callable[[], Any]) -> None:
  # absl has named the process after the part behind the slash.
  linux.set_name(name)
  # The launcher keeps the time of grace. Launchpad's own alarm would kill this
  # process at a moment of its own.
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
  """Ends this process even if a thread, or a library, does not let it end."""
  timer = threading.Timer(_LEAVE_SECS, os._exit, [exit_code])
  timer.daemon = True
  timer.start()


def _stop_in_thread(manager: worker_manager.WorkerManager) -> None:
  """Has SIGTERM stop the node from a thread, and not from the main thread.

  Python's handlers run in the main thread alone, which may be inside C++ code.
  Or it is inside `lp.wait_for_stop` and holds the lock of the event that
  Launchpad's handler sets: the handler would wait for that lock for ever.

  Args:
    manager: the node's worker manager, which has set Launchpad's handler.
  """
  reader, writer = socket.socketpair()
  writer.setblocking(False)
  # Python writes each signal there, also while no handler can run.
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
  """Entry of a spawned process: `argv[2]` holds its order, encoded."""
  run(messages.decode(sys.argv[2]))
