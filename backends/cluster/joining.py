"""Runs a Launchpad program as supervised processes of whoever joins.

An engine such as Kubernetes starts `backends.cluster.join` for each task, and
another where one is lost. This is the launcher that they join.
"""

import contextlib
import functools
import os
import pathlib
import secrets
import sys
from collections.abc import Callable

import launchpad as lp

from backends.cluster import door as door_lib
from backends.cluster import hosts, links, node_client
from backends.supervision import config as config_lib
from backends.supervision import output

# Until an engine has found a node for a task, and fetched what it needs.
_PLACE_SECS = 1800.0
# Meanwhile the run goes on without it.
_SPARE_PLACE_SECS = 3600.0


def run(
  program: lp.Program | Callable[[], lp.Program],
  *,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None = None,
  say_cause: bool = True,
) -> config_lib.Result:
  """As `this_machine.run`, on the nodes of daemons that join this process.

  Args:
    program: as of `this_machine.run`.
    config: how to run it; `log_dir` is on storage that all nodes share.
    on_line: as of `this_machine.run`.
    say_cause: as of `this_machine.run`.
  """
  key = pathlib.Path(os.environ[links.KEY_FILE]).read_bytes()
  if not isinstance(program, lp.Program):
    program = program()
  door = door_lib.Door(key, int(os.environ[links.LISTEN]))
  with contextlib.closing(door), shared_directory(config) as directory:
    nodes = [node(door, config, name) for name in task_names(program)]
    result, _ = hosts.run(
      program, nodes, directory, config=config, on_line=on_line
    )
  if say_cause and result.cause is not None:
    print(result.cause, file=sys.stderr, flush=True)
  return result


def task_names(program: lp.Program) -> list[str]:
  """Returns the names of a program's tasks, `label/index`."""
  return [
    f'{label}/{index}'
    for label, nodes in program.groups.items()
    for index in range(len(nodes))
  ]


def node(
  door: door_lib.Door,
  config: config_lib.RunConfig,
  name: str,
  gpus: int = 0,
  free: Callable[[], None] = lambda: None,
) -> node_client.Node:
  """Returns the node of a task whose daemon joins.

  Args:
    door: where.
    config: of the run.
    name: of the task.
    gpus: how many accelerators it is given.
    free: called when the run needs the node no more.
  """
  label = name.rpartition('/')[0]
  timeout = _SPARE_PLACE_SECS if label in config.spare else _PLACE_SECS
  reach = functools.partial(_meet, door, name, timeout)
  return node_client.Node(name, {name: gpus}, reach, returns=True, free=free)


def _meet(
  door: door_lib.Door, name: str, timeout: float, stderr: int
) -> links.Link:
  del stderr  # It has its own.
  return door.meet(name, timeout)


@contextlib.contextmanager
def shared_directory(config: config_lib.RunConfig):
  """Makes a folder of the run's own where all nodes see it, for a while."""
  directory = os.path.join(config.log_dir, f'.nodes-{secrets.token_hex(6)}')
  with hosts.own_folder(directory):
    yield directory
