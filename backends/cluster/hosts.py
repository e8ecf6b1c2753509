"""Runs a Launchpad program as supervised processes of several machines.

However the daemons get there: a backend says how each is reached.
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
from backends.supervision import launcher, output, scaling
from backends.supervision import machines as machines_lib
from system import stops


class Growth(NamedTuple):
  """How a run becomes larger.

  Attributes:
    resize: as of `this_machine.run`.
    place: makes nodes for tasks of these names.
  """

  resize: scaling.Resize
  place: Callable[[Sequence[str]], Sequence[node_client.Node]]


@contextlib.contextmanager
def own_folder(path: str) -> Iterator[None]:
  """Makes a folder of a run's own, and leaves nothing of it.

  Args:
    path: the same on all nodes; only this user may look into it.
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
) -> tuple[config_lib.Result, bool]:
  """Runs a program to its end, and leaves no process of it on any node.

  Args:
    program: as of `this_machine.run`.
    nodes: where its tasks live.
    directory: a folder of this run's own, at the same path on all nodes.
    config: as of `this_machine.run`.
    on_line: as of `this_machine.run`.
    signals: what stops the run.
    growth: how it becomes larger or smaller; None if it cannot.

  Returns:
    How it ended, and whether a node was lost.
  """
  # gRPC would send what goes to a node to a proxy as well. It compares the ends
  # of names, and those of addresses are digits.
  hosts = [os.environ.get('no_proxy'), *(node.host for node in nodes)]
  os.environ['no_proxy'] = ','.join([*filter(None, hosts), *string.digits])
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
    machines = machines_lib.Machines(
      directory,
      zygotes,
      zygotes.reserve,
      loopback.NodeStopper(),
      listener,
      signals=signals,
      make_room=lambda names: _make_room(zygotes, growth, names),
    )
    try:
      result = launcher.run(
        program, machines, config, on_line, growth and growth.resize
      )
    except fleet.NodeLostError as e:
      cause = config_lib.Cause('launcher', None, tuple(str(e).splitlines()))
      return config_lib.Result(1, cause, {}, (), 0.0), True
    return result, bool(zygotes.lost)


def _make_room(
  zygotes: fleet.Fleet, growth: Growth, names: Sequence[str]
) -> None:
  for node in growth.place(names):
    zygotes.add(node, is_extra=True)
  zygotes.wait_for(names)
