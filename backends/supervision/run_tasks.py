"""The tasks of a run, as what their processes are told."""

import collections
import os
from collections.abc import Collection, Sequence

import launchpad as lp
from launchpad import address as lp_address

from backends.process import loopback, messages, zygote_client
from backends.supervision import config as config_lib
from backends.supervision import machines as machines_lib
from backends.supervision import output, task_run
from backends.supervision import tasks as tasks_lib
from rpc import courier_stand_in


class RunTasks:
  """Makes tasks ready to start, also once the run is under way."""

  def __init__(
    self,
    machines: machines_lib.Machines,
    config: config_lib.RunConfig,
    logs: output.Logs,
    flags: Sequence[str],
  ):
    """Holds none yet.

    Args:
      machines: where the tasks run.
      config: how they run.
      logs: theirs.
      flags: absl flags for each, as on a command line.
    """
    self._machines = machines
    courier_stand_in.make_key(machines.directory)
    self._config = config
    self._logs = logs
    self._flags = flags
    self._runs: dict[str, task_run.TaskRun] = {}
    self._addresses: dict[str, list[loopback.FixedAddress]] = {}
    # By task, the addresses that it is told.
    self._told: dict[str, list[loopback.FixedAddress]] = {}

  def add(self, program: lp.Program) -> list[task_run.TaskRun]:
    """Returns the tasks of a program that are new to the run.

    Args:
      program: the run's, or that built again with more tasks.

    Raises:
      RuntimeError: a node cannot be pickled.
      TypeError: a node has no function to run.
      ValueError: the program is empty.
    """
    given = collections.Counter()

    def make_address(label: str, index: int) -> loopback.FixedAddress:
      name = f'{label}/{index}'
      known = self._addresses.setdefault(name, [])
      if given[name] == len(known):
        known.append(self._machines.make_address(label, index))
      given[name] += 1
      return known[given[name] - 1]

    tasks = tasks_lib.from_program(
      program,
      program_stopper=self._machines.stopper,
      make_address=make_address,
      env=self._config.task_env,
    )
    fresh = [task for task in tasks if task.name not in self._runs]
    orders = [self._order(task) for task in fresh]
    for task, order in zip(fresh, orders, strict=True):
      self._runs[task.name] = task_run.TaskRun(
        task=task,
        order=order,
        log=self._logs.open(task.label, task.index, task.file_stem),
        budget=config_lib.RestartBudget(self._config.restart.get(task.label)),
      )
    return [self._runs[task.name] for task in fresh]

  def forget(self, name: str) -> None:
    """Forgets a task that has left the run."""
    for by_name in (self._runs, self._addresses, self._told):
      by_name.pop(name, None)

  def on_moved(self, names: Collection[str]) -> list[str]:
    """Has tasks whose addresses have changed, and who has them, know the new.

    Returns:
      The names of those others.
    """
    told = self.told(names)
    for name in {*names, *told} & self._runs.keys():
      self._save(self._runs[name].task)
    return told

  def told(self, names: Collection[str]) -> list[str]:
    """Returns who has an address of tasks, these themselves left out."""
    theirs = {
      id(address) for name in names for address in self._addresses.get(name, ())
    }
    return [
      name
      for name, addresses in self._told.items()
      if name not in names
      and any(id(address) in theirs for address in addresses)
    ]

  def _order(self, task: tasks_lib.Task) -> messages.Order:
    return messages.Order(
      task=task.name,
      function_path=self._save(task),
      error_path=os.path.join(
        self._machines.directory, f'{task.file_stem}.error'
      ),
      flags=self._flags,
      env=zygote_client.task_environment(task.env),
      interface=self._machines.interface,
      ports=_ports(task) if self._machines.guards_ports else (),
    )

  def _save(self, task: tasks_lib.Task) -> str:
    path = os.path.join(self._machines.directory, f'{task.file_stem}.pkl')
    with loopback.noting_addresses() as told:
      tasks_lib.save_function(task, path)
    self._told[task.name] = list(told)
    return path


def _ports(task: tasks_lib.Task) -> list[int]:
  return [
    lp_address.get_port_from_address(address.resolve())
    for address in task.addresses
  ]
