"""The messages between a launcher, its nodes' daemons, zygotes and tasks.

Each kind of message is a class here. On the way one is a JSON object: the name
of its class as `kind`, and its fields. All ends are of one version.

launcher -> zygote: Setup first, then Order and Signal
zygote -> launcher: Ready or Failed first, then Started and Exited
launcher -> daemon: NodeSetup first, then Reserve, Order, Signal and Leave
daemon -> launcher: what its zygote sends, and Reserved, Lines and StopCalled
fleet -> supervisor: what a zygote sends, and NodeLost and NodeReplaced
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence

# The exit code of a task that a restart would not help: `EX_DATAERR` of the
# system's sysexits.h. It ends the run, even if restarts are left.
ENDS_RUN = 65


class MessageError(ValueError):
  """Something came that is no message of these kinds."""


@dataclasses.dataclass(frozen=True)
class Message:
  """A message of any kind."""


@dataclasses.dataclass(frozen=True)
class Setup(Message):
  """Tells a zygote how to prepare itself.

  Attributes:
    launcher: the pid of the launcher.
    preload: names of the modules to import.
    fork: whether to fork the tasks off itself, instead of starting an
      interpreter for each.
  """

  launcher: int
  preload: Sequence[str]
  fork: bool


@dataclasses.dataclass(frozen=True)
class NodeSetup(Message):
  """Tells a node's daemon how to prepare itself and its zygote.

  Attributes:
    host: the address at which other nodes reach this one.
    gpus: by task, the number of accelerators that it gets, if it gets any.
    preload: as in `Setup`.
    fork: as in `Setup`.
    env: environment variables that all tasks share; None unsets one.
  """

  host: str
  gpus: Mapping[str, int]
  preload: Sequence[str]
  fork: bool
  env: Mapping[str, str | None]


@dataclasses.dataclass(frozen=True)
class Order(Message):
  """Asks for the process of a task, and tells the process what to be.

  Attributes:
    task: the task's name, `label/index`.
    function_path: path of the file of the pickled function.
    error_path: path of the file for the traceback of what the function raises.
    flags: absl flags, as on a command line.
    env: environment variables; None unsets one.
    interface: the address that its servers listen on; empty for all.
    ports: the ports whose servers other machines must not reach.
  """

  task: str
  function_path: str
  error_path: str
  flags: Sequence[str]
  env: Mapping[str, str | None]
  interface: str = ''
  ports: Sequence[int] = ()


@dataclasses.dataclass(frozen=True)
class Signal(Message):
  """Asks to signal a task's process; SIGKILL goes to its whole session."""

  task: str
  signum: int


@dataclasses.dataclass(frozen=True)
class Reserve(Message):
  """Asks a daemon to take one more port of its node."""


@dataclasses.dataclass(frozen=True)
class Leave(Message):
  """Tells a daemon that the run needs its node no more."""


@dataclasses.dataclass(frozen=True)
class Ready(Message):
  """Says that a zygote has imported its modules.

  Attributes:
    reason_not_to_fork: why it cannot fork tasks though it should; None if it
      can, or should not.
  """

  reason_not_to_fork: str | None


@dataclasses.dataclass(frozen=True)
class Failed(Message):
  """Says that a zygote could not import its modules, or that a node is lost.

  Attributes:
    error: the traceback, or what happened.
    node: the name of the node; None for the zygote of this machine.
  """

  error: str
  node: str | None = None


@dataclasses.dataclass(frozen=True)
class Started(Message):
  """Says that the process of a task has started."""

  task: str
  pid: int


@dataclasses.dataclass(frozen=True)
class Exited(Message):
  """Says that the process of a task has ended.

  Attributes:
    task: the task's name.
    exit_code: minus the number of the signal, if a signal ended it.
  """

  task: str
  exit_code: int


@dataclasses.dataclass(frozen=True)
class Reserved(Message):
  """Answers `Reserve` with the address of the port, `host:port`."""

  address: str


@dataclasses.dataclass(frozen=True)
class Lines(Message):
  """Passes on what the process of a task printed.

  Attributes:
    task: the task's name; None for the zygote.
    lines: the lines, without their ends.
  """

  task: str | None
  lines: Sequence[str]


@dataclasses.dataclass(frozen=True)
class StopCalled(Message):
  """Says that a task of the node has called `lp.stop()`."""


@dataclasses.dataclass(frozen=True)
class NodeLost(Message):
  """Says that a node is lost whose place another will take.

  Attributes:
    tasks: the names of its tasks.
    error: how it was lost.
  """

  tasks: Sequence[str]
  error: str


@dataclasses.dataclass(frozen=True)
class NodeReplaced(Message):
  """Says that another node has taken the place of a lost one.

  Attributes:
    tasks: the names of the tasks.
    addresses: the addresses that their old ones have become, in the order in
      which those were reserved.
  """

  tasks: Sequence[str]
  addresses: Sequence[str]


_KINDS = {kind.__name__: kind for kind in Message.__subclasses__()}


def encode(message: Message) -> bytes:
  """Returns a message as one line of JSON, without the line's end."""
  fields = dataclasses.asdict(message)
  return json.dumps({'kind': type(message).__name__, **fields}).encode()


def decode(data: bytes | str) -> Message:
  """Returns the message that `encode` made into JSON.

  Raises:
    MessageError: it is of no known kind, or lacks a field.
  """
  try:
    fields = json.loads(data)
    kind = _KINDS[fields.pop('kind')]
    names = {field.name for field in dataclasses.fields(kind)}
  except (ValueError, KeyError, TypeError, AttributeError) as e:
    raise MessageError(f'no message: {_short(data)}') from e
  if names != set(fields):
    raise MessageError(
      f'{kind.__name__} has the fields {sorted(names)}, got {_short(data)}'
    )
  return kind(**fields)


def _short(data: bytes | str) -> str:
  return repr(data[:200])
