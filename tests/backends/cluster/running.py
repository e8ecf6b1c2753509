"""Runs programs on nodes, in the test's own process."""

import contextlib
import os

from backends.cluster import fleet
from backends.local import this_machine
from backends.process import loopback
from backends.supervision import launcher, machines
from tests import helpers


def run_on(nodes, program, directory, **config):
  """Runs a program on nodes; returns its result and its lines.

  Args:
    nodes: the nodes, as `node_client.Node`s.
    program: the program.
    directory: path of a folder for the run's files.
    **config: fields of a `RunConfig`.
  """
  config = this_machine.RunConfig(log_dir=directory, **config)
  lines = helpers.Lines()
  with contextlib.ExitStack() as stack:
    listener = loopback.StopListener(f'{directory}/stop')
    stack.callback(listener.close)
    daemons = fleet.Fleet(nodes, listener.stopper, config)
    stack.callback(daemons.close)
    placed = machines.Machines(
      directory, daemons, daemons.reserve, loopback.NodeStopper(), listener
    )
    return launcher.run(program, placed, config, lines), lines


class Server:
  """Says on which node it runs, by the path of that node's `StopListener`."""

  def node(self):
    return os.environ[loopback.STOP_PATH]
