"""Runs a Launchpad program as supervised processes of this machine.

result = this_machine.run(make_program, config=RunConfig(preload=['jax']))
sys.exit(result.exit_code)
"""

import contextlib
import os
import sys
from collections.abc import Callable

import launchpad as lp

from backends.process import loopback, port_guard, zygote_client
from backends.supervision import config as config_lib
from backends.supervision import launcher, machines, output, restarts
from backends.supervision import result as result_lib
from system import private_folder

Cause = result_lib.Cause
RunConfig = config_lib.RunConfig
RestartPolicy = restarts.RestartPolicy
Result = result_lib.Result


class OpenPortsError(OSError):
  """The kernel does not let a run keep other machines off its ports."""


def run(
  program: lp.Program | Callable[[], lp.Program],
  *,
  config: RunConfig | None = None,
  on_line: output.OnLine | None = None,
  say_cause: bool = True,
  resize: config_lib.Resize | None = None,
) -> Result:
  """Runs a program until all its tasks have ended or it is stopped.

  Called in the main thread, it stops the program on SIGINT, SIGTERM and
  SIGHUP; in another thread it leaves signals alone.

  Args:
    program: the program, built; or a function that builds it, called while
      `config.preload` is being imported in another process.
    config: how to run it.
    on_line: called with label, index and text of each line that a task
      prints, in a thread of its own; by default it is printed.
    say_cause: if the run fails, end by writing the cause to standard error. It
      is in the result as well.
    resize: makes the program with another number of tasks of a role; without
      it the number cannot be changed while it runs.

  Returns:
    How it ended.

  Raises:
    OpenPortsError: other machines would reach its ports, and the config has
      such a run refused.
    RuntimeError: a node cannot be pickled; no task was started.
    TypeError: a node has no function to run.
    ValueError: the program is empty.
  """
  config = config or RunConfig()
  guards_ports = _can_guard(config, on_line or output.Printer())
  with contextlib.ExitStack() as stack:
    directory = stack.enter_context(private_folder.folder('launchpad-local'))
    listener = loopback.StopListener(os.path.join(directory, 'stop'))
    stack.callback(listener.close)
    ports = loopback.ReservedPorts()
    stack.callback(ports.close)
    zygote = zygote_client.ZygoteClient(
      directory, config.preload, config.start == 'fork', config.default_env
    )
    stack.callback(zygote.discard)
    machine = machines.Machines(
      directory,
      zygote,
      lambda label, index: ports.reserve(),
      listener.stopper,
      listener,
      interface='127.0.0.1',
      guards_ports=guards_ports,
    )
    result = launcher.run(program, machine, config, on_line, resize)
  if say_cause and result.cause is not None:
    print(result.cause, file=sys.stderr, flush=True)
  return result


def _can_guard(config: RunConfig, on_line: output.OnLine) -> bool:
  """Whether servers can hear this machine alone; says so if they cannot."""
  try:
    port_guard.check()
  except OSError as e:
    open_ports = (
      'other machines can reach the ports of its replay and weights, which '
      f'this kernel does not let it prevent ({e})'
    )
    if config.refuse_open_ports:
      raise OpenPortsError(f'the run did not begin: {open_ports}') from e
    text = f'The run goes on though {open_ports}; --refuse_open_ports ends it.'
    on_line('launcher', 0, text)
    return False
  return True
