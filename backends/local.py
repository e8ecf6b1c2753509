"""Runs a Launchpad program as supervised processes of this machine.

result = local.run(make_program, config=local.LocalConfig(preload=['jax']))
sys.exit(result.exit_code)
"""

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable

import launchpad as lp

from backends import config as config_lib
from backends import (
  launcher,
  loopback,
  machines,
  output,
  port_guard,
  private,
  scaling,
  zygote_client,
)

Cause = config_lib.Cause
LocalConfig = config_lib.LocalConfig
RestartPolicy = config_lib.RestartPolicy
Result = config_lib.Result


def run(
  program: lp.Program | Callable[[], lp.Program],
  *,
  config: LocalConfig | None = None,
  on_line: output.OnLine | None = None,
  say_cause: bool = True,
  resize: scaling.Resize | None = None,
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
    RuntimeError: a node cannot be pickled; no task was started.
    TypeError: a node has no function to run.
    ValueError: the program is empty.
  """
  config = config or LocalConfig()
  with contextlib.ExitStack() as stack:
    directory = stack.enter_context(private.folder('launchpad-local'))
    listener = loopback.StopListener(os.path.join(directory, 'stop'))
    stack.callback(listener.close)
    ports = loopback.ReservedPorts(list_path=os.path.join(directory, 'ports'))
    stack.callback(ports.close)
    config = _guarded(config, ports, on_line or output.Printer())
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
    )
    result = launcher.run(program, machine, config, on_line, resize)
  if say_cause and result.cause is not None:
    print(result.cause, file=sys.stderr, flush=True)
  return result


def _guarded(
  config: LocalConfig, ports: loopback.ReservedPorts, on_line: output.OnLine
) -> LocalConfig:
  """Has the tasks hear nobody on other machines, or says why they do."""
  try:
    port_guard.check()
  except OSError as e:
    text = f'The servers of this run can be reached from other machines: {e}.'
    on_line('launcher', 0, text)
    return config
  env = {**config.default_env, port_guard.PORTS_PATH: ports.list_path}
  return dataclasses.replace(config, default_env=env)
