"""Turns a finished `lp.Program` into the tasks that a backend runs."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import launchpad as lp
from launchpad.launch import serialization

# A function that stops the program. Launchpad's launch context takes one.
ProgramStopper = Callable[..., None]


@dataclasses.dataclass(frozen=True)
class TaskSpec:
  """The description of one task of a program. A task is one process.

  Attributes:
    label: the label of the node's group.
    index: the node's index in its group.
    function: the function that the process runs. It takes no arguments.
    env: environment variables on top of the launcher's; None unsets a variable.
    addresses: the addresses at which other tasks reach this one, already bound.
  """

  label: str
  index: int
  function: Callable[[], Any]
  env: Mapping[str, str | None]
  addresses: tuple[lp.Address, ...]

  @property
  def name(self) -> str:
    return f'{self.label}/{self.index}'

  @property
  def file_stem(self) -> str:
    """The task's name for use in file names."""
    return f'{self.label.replace("/", "_")}_{self.index}'


def from_program(
  program: lp.Program,
  *,
  program_stopper: ProgramStopper,
  make_address: Callable[[str, int], lp.AbstractAddressBuilder],
  env: Callable[[str], Mapping[str, str | None]] = lambda label: {},
) -> list[TaskSpec]:
  """Prepares a program for launch and returns its tasks.

  It does what Launchpad's own launchers do before they start processes, so that
  nodes behave as under `lp.launch`. The nodes see the launch type
  `lp.LaunchType.LOCAL_MULTI_PROCESSING`, because Launchpad's set of launch
  types cannot be extended.

  Args:
    program: the program, with all its nodes.
    program_stopper: `lp.stop()` calls it in any node. It must be picklable.
    make_address: called once for each address of the program, with the label
      and the index of the task that serves there; returns the address.
    env: called with a label; returns the environment variables of its tasks.

  Returns:
    The tasks, in the order of the program's groups.

  Raises:
    ValueError: the program has no nodes.
    TypeError: a node has no function to run.
  """
  if not program.get_all_nodes():
    raise ValueError(f'The program {program.name!r} has no nodes to run.')
  _initialize_contexts(program, program_stopper)
  _connect_handles(program)
  for label, nodes in program.groups.items():
    for index, node in enumerate(nodes):
      for address in node.addresses:
        address.bind(make_address(label, index))
  return [
    TaskSpec(
      label, index, _function(label, node), env(label), tuple(node.addresses)
    )
    for label, nodes in program.groups.items()
    for index, node in enumerate(nodes)
  ]


def save_function(spec: TaskSpec, path: str) -> None:
  """Pickles a task's function into a file, which the task's process loads.

  Args:
    spec: the task.
    path: path of the file to write.

  Raises:
    RuntimeError: cloudpickle cannot pickle it; the message names the task.
  """
  serialization.serialize_functions(path, spec.name, spec.function)


def _initialize_contexts(
  program: lp.Program, program_stopper: ProgramStopper
) -> None:
  for node in program.get_all_nodes():
    node.launch_context.initialize(
      lp.LaunchType.LOCAL_MULTI_PROCESSING,
      launch_config=None,
      program_stopper=program_stopper,
    )


def _connect_handles(program: lp.Program) -> None:
  for label, nodes in program.groups.items():
    for node in nodes:
      for handle in node.input_handles:
        handle.connect(node, label)


def _function(label: str, node: Any) -> Callable[[], Any]:
  function = getattr(node, 'function', None)
  if function is None:
    raise TypeError(
      f'The node {type(node).__name__} labelled {label!r} has no `function`: '
      'only nodes made from lp.PyNode can be run.'
    )
  return function
