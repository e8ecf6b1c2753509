"""The tasks of a run, and what each needs before it can start."""

import collections
import os
from collections.abc import Collection, Sequence

import launchpad as lp
from launchpad import address as lp_address

from backends.process import loopback, messages, zygote_client
from backends.supervision import config as config_lib
from backends.supervision import logs as logs_lib
from backends.supervision import machines as machines_lib
from backends.supervision import restarts, task_specs
from backends.supervision import task as task_lib
from rpc import courier_stand_in


class RunTasks:
  """The tasks of a run. Some may be added or removed while the run goes on.

  Attributes:
    by_name: maps each task's name, `label/index`, to the task.
  """

  def __init__(
    self,
    machines: machines_lib.Machines,
    config: config_lib.RunConfig,
    logs: logs_lib.Logs,
    flags: Sequence[str],
  ):
    """Has no tasks yet. Makes the call key, for calls between the run's tasks.

    Args:
      machines: where the tasks run.
      config: the run's settings.
      logs: opens a log for each task.
      flags: absl flags that each task gets, as on a command line.
    """
    self._machines = machines
    courier_stand_in.make_key(machines.directory)
    self._config = config
    self._logs = logs
    self._flags = flags
    self.by_name: dict[str, task_lib.Task] = {}
    # For each task's name: the addresses where it serves, and those it calls.
    self._addresses: dict[str, list[loopback.FixedAddress]] = {}
    self._called: dict[str, list[loopback.FixedAddress]] = {}

  def add(self, program: lp.Program) -> list[task_lib.Task]:
    """Adds and returns the tasks of a program that are new to the run.

    Args:
      program: the run's program; in later calls, the same program with more
        tasks.

    Raises:
      RuntimeError: a node cannot be pickled.
      TypeError: a node has no function to run.
      ValueError: the program is empty.
    """
    num_asked = collections.Counter()

    def make_address(label: str, index: int) -> loopback.FixedAddress:
      name = f'{label}/{index}'
      known = self._addresses.setdefault(name, [])
      if num_asked[name] == len(known):
        known.append(self._machines.make_address(label, index))
      num_asked[name] += 1
      return known[num_asked[name] - 1]

    specs = task_specs.from_program(
      program,
      program_stopper=self._machines.stopper,
      make_address=make_address,
      env=self._config.task_env,
    )
    new = [spec for spec in specs if spec.name not in self.by_name]
    orders = [self._order(spec) for spec in new]
    tasks = [
      task_lib.Task(
        spec=spec,
        order=order,
        log=self._logs.open(spec.label, spec.index, spec.file_stem),
        budget=restarts.RestartBudget(self._config.restart.get(spec.label)),
      )
      for spec, order in zip(new, orders, strict=True)
    ]
    self.by_name.update((task.name, task) for task in tasks)
    return tasks

  @property
  def all(self) -> list[task_lib.Task]:
    return list(self.by_name.values())

  def forget(self, name: str) -> None:
    """Removes a task that has left the run."""
    for by_name in (self.by_name, self._addresses, self._called):
      by_name.pop(name, None)

  def find(self, names: Collection[str]) -> list[task_lib.Task]:
    """Returns the tasks with these names, except those that left the run."""
    return [self.by_name[name] for name in names if name in self.by_name]

  def callers(self, names: Collection[str]) -> list[task_lib.Task]:
    """Returns the other tasks that hold an address of one of these tasks."""
    serving = {
      id(address) for name in names for address in self._addresses.get(name, ())
    }
    return self.find(
      [
        name
        for name, addresses in self._called.items()
        if name not in names
        and any(id(address) in serving for address in addresses)
      ]
    )

  def renew_addresses(self, names: Collection[str]) -> None:
    """Pickles the functions of moved tasks and of their callers again.

    So the next processes of these tasks get the new addresses.
    """
    for task in [*self.find(names), *self.callers(names)]:
      self._save(task.spec)

  def _order(self, spec: task_specs.TaskSpec) -> messages.Order:
    directory = self._machines.directory
    return messages.Order(
      task=spec.name,
      function_path=self._save(spec),
      error_path=os.path.join(directory, f'{spec.file_stem}.error'),
      flags=self._flags,
      env=zygote_client.task_env(spec.env),
      interface=self._machines.interface,
      ports=_ports(spec) if self._machines.guards_ports else (),
    )

  def _save(self, spec: task_specs.TaskSpec) -> str:
    path = os.path.join(self._machines.directory, f'{spec.file_stem}.pkl')
    with loopback.noting_addresses() as noted:
      task_specs.save_function(spec, path)
    self._called[spec.name] = list(noted)
    return path


def _ports(spec: task_specs.TaskSpec) -> list[int]:
  return [
    lp_address.get_port_from_address(address.resolve())
    for address in spec.addresses
  ]
