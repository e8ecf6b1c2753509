"""Runs a Launchpad program as supervised processes of several machines.

Slurm, Ray and Kubernetes use this. They differ in how the nodes' daemons are
started.
"""

import contextlib
import functools
import os
import shutil
import string
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import launchpad as lp

from backends.cluster import fleet, node_client
from backends.process import bootstrap, loopback
from backends.supervision import config as config_lib
from backends.supervision import launcher, output, result
from backends.supervision import machines as machines_lib
from system import stops


class Growth(NamedTuple):
  """How a run becomes larger.

  Attributes:
    resize: as in `this_machine.run`.
    place: called with the names of new tasks; makes nodes for them.
  """

  resize: config_lib.Resize
  place: Callable[[Sequence[str]], Sequence[node_client.Node]]


@contextlib.contextmanager
def own_folder(path: str) -> Iterator[None]:
  """Makes a folder for one run, and removes it at the end.

  Args:
    path: path of the folder, the same on all nodes. Only this user has access
      to the folder.
  """
  remove = functools.partial(shutil.rmtree, path, ignore_errors=True)
  with stops.undoing(remove):
    os.makedirs(path, mode=0o700)
    try:
      yield
    finally:
      remove()


def run(
  program: lp.Program | Callable[[], lp.Program],
  nodes: Sequence[node_client.Node],
  directory: str,
  *,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None = None,
  signals: Sequence[int] = stops.SIGNALS,
  growth: Growth | None = None,
) -> tuple[result.Result, bool]:
  """Runs a program to its end.

  When it returns, no process of the program is left on any node.

  Args:
    program: as in `this_machine.run`.
    nodes: the nodes; each task of the program is on one of them.
    directory: path of a folder that this run alone uses, the same on all nodes.
    config: as in `this_machine.run`.
    on_line: as in `this_machine.run`.
    signals: the signals that stop the run.
    growth: how the run becomes larger or smaller; None if its size is fixed.

  Returns:
    How the run ended, and whether a node was lost.
  """
  _bypass_proxy(nodes)
  bootstrap.save_paths(directory)
  with contextlib.ExitStack() as stack:
    listener = loopback.StopListener(os.path.join(directory, 'stop'))
    stack.callback(listener.close)
    daemons = fleet.Fleet(nodes, listener.stopper, config)
    stack.callback(daemons.close)
    machines = machines_lib.Machines(
      directory,
      daemons,
      daemons.reserve,
      loopback.NodeStopper(),
      listener,
      signals=signals,
      make_room=functools.partial(_make_room, daemons, growth),
    )
    resize = growth and growth.resize
    try:
      ended = launcher.run(program, machines, config, on_line, resize)
    except fleet.NodeLostError as e:
      cause = result.Cause('launcher', None, tuple(str(e).splitlines()))
      return result.Result(1, cause, {}, (), 0.0), True
    return ended, bool(daemons.lost)


def _bypass_proxy(nodes: Sequence[node_client.Node]) -> None:
  """Has gRPC connect to nodes directly, even if a proxy is set."""
  # gRPC compares the ends of host names, and addresses end with a digit.
  hosts = [os.environ.get('no_proxy'), *(node.host for node in nodes)]
  os.environ['no_proxy'] = ','.join([*filter(None, hosts), *string.digits])


def _make_room(
  daemons: fleet.Fleet, growth: Growth, names: Sequence[str]
) -> None:
  for node in growth.place(names):
    daemons.add(node, is_extra=True)
  daemons.wait_for(names)
