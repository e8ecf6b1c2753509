"""Runs a Launchpad program on nodes whose daemons connect to this launcher.

An engine such as Kubernetes or Ray starts a daemon for each task, by the
command `backends.cluster.join`. If a daemon is lost, the engine starts another.
"""

import contextlib
import functools
import os
import pathlib
import secrets
from collections.abc import Callable, Iterator

import launchpad as lp

from backends.cluster import door as door_lib
from backends.cluster import hosts, links, node_client
from backends.supervision import config as config_lib
from backends.supervision import output
from backends.supervision import result as result_lib

# Seconds that an engine may take to find a node for a task and to start the
# daemon there. The second number is for tasks of `RunConfig.spare`, without
# which the run goes on meanwhile.
_PLACE_SECS = 1800.0
_SPARE_PLACE_SECS = 3600.0


def run(
  program: lp.Program | Callable[[], lp.Program],
  *,
  config: config_lib.RunConfig,
  on_line: output.OnLine | None = None,
) -> result_lib.Result:
  """Like `this_machine.run`, on nodes whose daemons connect to this process.

  Args:
    program: as in `this_machine.run`.
    config: the run's settings; `log_dir` is on storage that all nodes share.
    on_line: as in `this_machine.run`.

  Returns:
    How the run ended.
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
  """Returns the node of one task, whose daemon connects to this process.

  Args:
    door: lets the daemon in.
    config: the run's settings; `spare` decides how long to wait for the daemon.
    name: name of the task.
    gpus: number of accelerators that the task gets.
    free: called when the run no longer needs the node.
  """
  label = name.rpartition('/')[0]
  timeout = _SPARE_PLACE_SECS if label in config.spare else _PLACE_SECS
  return node_client.Node(
    name,
    {name: gpus},
    functools.partial(_meet, door, name, timeout),
    is_replaced=True,
    free=free,
  )


def _meet(
  door: door_lib.Door, name: str, timeout: float, stderr: int
) -> links.Link:
  del stderr  # The engine keeps what the daemon prints.
  return door.meet(name, timeout)


@contextlib.contextmanager
def shared_directory(config: config_lib.RunConfig) -> Iterator[str]:
  """Makes a folder for one run that all nodes see, and removes it at the end.

  Args:
    config: the run's settings; the folder is in its `log_dir`.

  Yields:
    The path of the folder.
  """
  directory = os.path.join(config.log_dir, f'.nodes-{secrets.token_hex(6)}')
  with hosts.own_folder(directory):
    yield directory
