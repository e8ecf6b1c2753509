"""Runs a Launchpad program as supervised processes of a Ray cluster's nodes.

result = placement.run(make_program, address='auto', resources={},
                       config=RunConfig(log_dir='/shared/run/logs'))
sys.exit(result.exit_code)

Each task has its own placement group, with the task's resources. In the group,
an actor of Ray runs the task's daemon, which connects to this process. When the
node is lost, Ray finds another node with room for the group, and starts the
actor again.
"""

import contextlib
import ctypes
import functools
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import launchpad as lp
import ray
from ray.util import scheduling_strategies

from backends import resources as resources_lib
from backends.cluster import door, hosts, joining, node_client
from backends.process import bootstrap
from backends.ray import driver
from backends.supervision import config as config_lib
from backends.supervision import output
from backends.supervision import result as result_lib

# The most seconds to wait until the cluster has room for all tasks.
_PLACE_SECS = 300.0
# Ray takes whole seconds. After the first poll, a line says what the run waits
# for.
_POLL_SECS = 1
_PR_SET_PDEATHSIG = 1


# With this, Ray's workers need not find this module.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


def run(
  program: lp.Program | Callable[[], lp.Program],
  *,
  address: str,
  resources: Mapping[str, resources_lib.Resources],
  config: config_lib.RunConfig,
  on_line: output.OnLine | None = None,
  resize: config_lib.Resize | None = None,
) -> result_lib.Result:
  """Runs a program like `this_machine.run`, on nodes that Ray chooses.

  Args:
    program: as for `this_machine.run`.
    address: the cluster's address, `auto` or host and port; this machine is one
      of the cluster's nodes.
    resources: the resources of each task by label.
    config: the run's settings; `log_dir` is on storage that all nodes share.
    on_line: as for `this_machine.run`.
    resize: as for `this_machine.run`.

  Returns:
    How the run ended.

  Raises:
    NoClusterError: there is no cluster.
  """
  with contextlib.ExitStack() as stack:
    stack.enter_context(driver.connected(address))
    if not isinstance(program, lp.Program):
      program = program()
    directory = stack.enter_context(joining.shared_directory(config))
    cluster = _Cluster(directory, resources, config)
    stack.callback(cluster.close)
    growth = resize and hosts.Growth(resize, cluster.place)
    try:
      nodes = cluster.place(joining.task_names(program))
      result, _ = hosts.run(
        *(program, nodes, directory),
        config=config,
        on_line=on_line,
        growth=growth,
      )
    except NoRoomError as e:
      cause = result_lib.Cause('launcher', None, (str(e),))
      result = result_lib.Result(1, cause, {}, (), 0.0)
  return result


class NoRoomError(TimeoutError):
  """The cluster has no room for a task."""


class _Cluster:
  """The placement groups and actors of one run."""

  def __init__(
    self,
    directory: str,
    resources: Mapping[str, resources_lib.Resources],
    config: config_lib.RunConfig,
  ):
    self._directory = directory
    self._resources = resources
    self._config = config
    # The daemon key. It is not the key of the calls between tasks.
    key = secrets.token_hex()
    self._key_path = _write_key(directory, key)
    self._door = door.Door(key.encode())
    bootstrap.save_paths(directory)
    host = ray.util.get_node_ip_address()
    self._address = f'{host}:{self._door.port}'
    self._held: dict[str, tuple[Any, Any]] = {}
    # Ray aborts this process if it uses an actor that has been given back.
    self._lock = threading.Lock()
    self._placing = threading.Lock()
    self._is_closing = False

  def place(self, names: Sequence[str]) -> list[node_client.Node]:
    """Has Ray place tasks; returns a node for each.

    Raises:
      NoRoomError: Ray had no room for all of them in time. None is placed.
    """
    with self._placing:
      if self._is_closing:
        # The run ended while this waited for the lock.
        raise NoRoomError('The run has ended meanwhile.')
      placed = {name: self._reserve(name) for name in names}
      missing = self._await_room(placed)
      if missing:
        for group in placed.values():
          ray.util.remove_placement_group(group)
        raise NoRoomError(self._lacking(names, missing))
      return [self._keep(name, group) for name, group in placed.items()]

  def _await_room(self, placed: Mapping[str, Any]) -> int:
    """Waits for room; returns how many groups did not get any in time."""
    deadline = time.monotonic() + _PLACE_SECS
    waiting = list(placed.values())
    is_said = False
    while waiting and time.monotonic() < deadline and not self._is_closing:
      # One long wait could not be interrupted, since Ray waits in C++.
      if waiting[0].wait(_POLL_SECS):
        waiting.pop(0)
      elif not is_said:
        print(self._waiting(list(placed)), flush=True)
        is_said = True
    return sum(not group.wait(0) for group in waiting)

  def close(self) -> None:
    """Gives back all groups and actors."""
    self._is_closing = True
    self._door.close()
    driver.within(driver.LEAVE_SECS, self._free_all)

  def _free_all(self) -> None:
    with self._placing:
      for name, (actor, group) in list(self._held.items()):
        self._free(name, actor, group)

  def _resources_of(self, name: str) -> resources_lib.Resources:
    label = name.rpartition('/')[0]
    return self._resources.get(label, resources_lib.Resources())

  def _reserve(self, name: str) -> Any:
    resources = self._resources_of(name)
    bundle = {'CPU': resources.cpu}
    if resources.gpu:
      bundle['GPU'] = resources.gpu
    return ray.util.placement_group([bundle])

  def _keep(self, name: str, group: Any) -> node_client.Node:
    resources = self._resources_of(name)
    command = bootstrap.command(
      'backends.cluster.join',
      self._directory,
      self._address,
      name,
      self._key_path,
    )
    actor = _Keeper.options(
      num_cpus=resources.cpu,
      num_gpus=resources.gpu,
      max_restarts=-1,
      scheduling_strategy=(
        scheduling_strategies.PlacementGroupSchedulingStrategy(group)
      ),
    ).remote(command)
    self._held[name] = actor, group
    free = functools.partial(self._free, name, actor, group)
    return joining.node(self._door, self._config, name, resources.gpu, free)

  def _free(self, name: str, actor, group: Any) -> None:
    with self._lock:
      # A later task of the same name may have another actor by now.
      if name in self._held and self._held[name][0] is actor:
        del self._held[name]
        # If the cluster does not answer, nothing can be given back to it.
        with contextlib.suppress(ray.exceptions.RayError):
          ray.kill(actor)
          ray.util.remove_placement_group(group)

  def _waiting(self, names: Sequence[str]) -> str:
    return (
      f'Waiting up to {_PLACE_SECS:.0f} s for room for {len(names)} tasks on '
      'the Ray cluster.'
    )

  def _lacking(self, names: Sequence[str], number: int) -> str:
    resources = [self._resources_of(name) for name in names]
    asked = {
      'CPU': sum(each.cpu for each in resources),
      'GPU': sum(each.gpu for each in resources),
    }
    free = ray.available_resources()
    wants = ', '.join(
      f'{count} {kind} ({free.get(kind, 0):.0f} free)'
      for kind, count in asked.items()
      if count
    )
    return (
      f'Ray found no room for {number} of {len(names)} tasks within '
      f'{_PLACE_SECS:.0f} s. They need {wants}. Add nodes, or ask for less '
      'with --num_actors and --resources.'
    )


@ray.remote
class _Keeper:
  """An actor of Ray that starts a task's daemon on the actor's node."""

  def __init__(self, command: Sequence[str]):
    daemon = subprocess.Popen(
      command,
      stdin=subprocess.DEVNULL,
      start_new_session=True,
      preexec_fn=lambda: ctypes.CDLL(None).prctl(
        _PR_SET_PDEATHSIG, signal.SIGKILL
      ),
    )

    def watch() -> None:
      if daemon.wait():
        # Ray then starts another actor, here or elsewhere.
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _write_key(directory: str, key: str) -> str:
  """Writes the daemon key for this user alone; returns the file's path."""
  path = os.path.join(directory, 'key')
  descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
  with open(descriptor, 'w') as f:
    f.write(key)
  return path
