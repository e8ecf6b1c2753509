"""Turns a built `lp.Program` into the tasks that all backends run."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import launchpad as lp
from launchpad.launch import serialization

# What Launchpad itself calls a program stopper.
ProgramStopper = Callable[..., None]


@dataclasses.dataclass(frozen=True)
class TaskSpec:
  """What a program says of one of its tasks, which is one process.

  Attributes:
    label: the label of the node's group.
    index: the node's position in its group.
    function: the function that the process runs, without arguments.
    env: environment variables, on top of those of the launching process; None
      unsets one.
    addresses: the addresses at which other tasks reach this one, bound already.
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
    """The task's name as a part of a file's name."""
    return f'{self.label.replace("/", "_")}_{self.index}'


def from_program(
  program: lp.Program,
  *,
  program_stopper: ProgramStopper,
  make_address: Callable[[str, int], lp.AbstractAddressBuilder],
  env: Callable[[str], Mapping[str, str | None]] = lambda label: {},
) -> list[TaskSpec]:
  """Prepares a program for launch; returns its tasks.

  Does what Launchpad's own launchers do before they start anything, so that
  nodes behave as under `lp.launch`. The launch type that they see is
  `lp.LaunchType.LOCAL_MULTI_PROCESSING`: Launchpad's set of types cannot be
  extended.

  Args:
    program: the program, built.
    program_stopper: called by `lp.stop()` in any node; must be picklable.
    make_address: called once for each address of the program, with the label
      and the index of the task that serves there.
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
  """Pickles a task's function into a file for its process to load.

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
