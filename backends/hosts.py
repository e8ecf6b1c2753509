"""Runs a Launchpad program as supervised processes of several machines.

However the agents get there: a backend says by which command each is started.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Sequence

import launchpad as lp

from backends import bootstrap, fleet, launcher, loopback, output
from backends import config as config_lib


def run(
  program: lp.Program | Callable[[], lp.Program],
  nodes: Sequence[fleet.Node],
  directory: str,
  *,
  config: config_lib.LocalConfig,
  on_line: output.OnLine | None = None,
  signals: Sequence[int] = (signal.SIGINT, signal.SIGTERM),
) -> tuple[config_lib.Result, bool]:
  """Runs a program to its end, and leaves no process of it on any node.

  Args:
    program: as of `local.run`.
    nodes: where its tasks live.
    directory: a folder of this run's own, at the same path on all nodes.
    config: as of `local.run`.
    on_line: as of `local.run`.
    signals: what stops the run.

  Returns:
    How it ended, and whether a node was lost.
  """
  # gRPC would send what goes to a node to a proxy as well.
  hosts = [os.environ.get('no_proxy'), *(node.host for node in nodes)]
  os.environ['no_proxy'] = ','.join(filter(None, hosts))
  bootstrap.save_paths(directory)
  with contextlib.ExitStack() as stack:
    listener = loopback.StopListener(os.path.join(directory, 'stop'))
    stack.callback(listener.close)
    zygotes = fleet.Fleet(
      nodes,
      listener.stopper,
      config.preload,
      config.start == 'fork',
      config.default_env,
    )
    stack.callback(zygotes.close)
    machines = launcher.Machines(
      directory,
      zygotes,
      zygotes.reserve,
      loopback.NodeStopper(),
      listener,
      signals,
    )
    try:
      result = launcher.run(program, machines, config, on_line)
    except fleet.NodeLostError as e:
      cause = config_lib.Cause('launcher', None, tuple(str(e).splitlines()))
      return config_lib.Result(1, cause, {}, (), 0.0), True
    return result, bool(zygotes.lost)
