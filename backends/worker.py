"""What the process of one task does, however it was started."""

import json
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from absl import app, flags
from launchpad.launch import worker_manager

from backends import environment, linux, wire


def renew_randomness() -> None:
  """Gives a forked process random numbers that are not its siblings'.

  Python's own `random` renews itself after a fork; NumPy's global state stays.
  """
  numpy = sys.modules.get('numpy')
  if numpy is not None:
    numpy.random.seed()


def run(order: wire.Order) -> None:
  """Runs the task's function, then ends the process by SystemExit.

  Args:
    order: what to run.

  Raises:
    SystemExit: the function returned, or asked for it.
    Exception: what the function raised, once it is in `order.error_path`.
  """
  sys.stdout.reconfigure(line_buffering=True)
  sys.argv = [order.task]
  linux.set_name(order.task)
  try:
    environment.apply(order.env)
    with open(order.function_path, 'rb') as f:
      function = pickle.load(f)
    app.run(
      lambda _: _run_as_node(function),
      argv=[order.task, *order.flags],
      flags_parser=lambda argv: flags.FLAGS(argv, known_only=True),
    )
  except Exception:
    with open(order.error_path, 'w') as f:
      f.write(traceback.format_exc())
    raise


def _run_as_node(function: Callable[[], Any]) -> None:
  # The launcher keeps the time of grace. Launchpad's own alarm would kill this
  # process at a moment of its own.
  flags.FLAGS.lp_termination_notice_secs = -1
  worker_manager.WorkerManager(register_in_thread=True)
  signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
  function()


def main() -> None:
  """Entry of a spawned process: `argv[2]` holds the order as JSON."""
  run(wire.Order(*json.loads(sys.argv[2])))
