"""Runs a Launchpad program as supervised processes of this machine.

result = this_machine.run(make_program, config=RunConfig(preload=['jax']))
sys.exit(result.exit_code)
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

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

  In the main thread, SIGINT, SIGTERM and SIGHUP stop the program; in another
  thread this function leaves signals alone.

  Args:
    program: the program, or a function that builds it. The function is called
      while another process imports `config.preload`.
    config: the run's settings.
    on_line: called in another thread for each line that a task prints, with the
      task's label, its index, and the line's text. The default prints the line.
    say_cause: whether to write a failure's cause to standard error at the end.
      The result has the cause in any case.
    resize: builds the program with another number of tasks of a label; None if
      the number cannot change while the program runs.

  Returns:
    How the run ended.

  Raises:
    OpenPortsError: other machines could reach the run's ports, and the config
      refuses such a run.
    RuntimeError: a node cannot be pickled; no task was started.
    TypeError: a node has no function to run.
    ValueError: the program has no nodes.
  """
  config = config or RunConfig()
  guards_ports = _can_guard(config, on_line or output.Printer())
  with _machine(config, guards_ports) as machine:
    result = launcher.run(program, machine, config, on_line, resize)
  if say_cause and result.cause is not None:
    print(result.cause, file=sys.stderr, flush=True)
  return result


@contextlib.contextmanager
def _machine(
  config: RunConfig, guards_ports: bool
) -> Iterator[machines.Machines]:
  """Makes this machine ready for tasks while the body runs.

  Args:
    config: the run's settings.
    guards_ports: whether only this machine can reach the tasks' servers.
  """
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
    yield machines.Machines(
      directory,
      zygote,
      lambda label, index: ports.reserve(),
      listener.stopper,
      listener,
      interface='127.0.0.1',
      guards_ports=guards_ports,
    )


def _can_guard(config: RunConfig, on_line: output.OnLine) -> bool:
  """Returns whether the run can keep other machines off its servers' ports.

  Prints a line if it cannot.

  Raises:
    OpenPortsError: it cannot, and the config refuses such a run.
  """
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
