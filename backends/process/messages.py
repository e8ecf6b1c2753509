"""The messages between a launcher, its nodes' daemons, zygotes and tasks.

Each kind of message is a class here. A message is sent as a JSON object, with
the name of its class as `kind` and with its fields. All processes of a run have
the same version of this file.

launcher -> zygote: Setup first, then Order and Signal
zygote -> launcher: Ready or Failed first, then Started and Exited
launcher -> daemon: NodeSetup first, then Reserve, Order, Signal and Leave
daemon -> launcher: what its zygote sends, and Reserved, Lines and StopCalled
fleet -> supervisor: what a zygote sends, and NodeLost and NodeReplaced
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence

# The exit code of a task that would fail again after a restart: `EX_DATAERR` of
# sysexits.h. It ends the run, even if restarts are left.
ENDS_RUN = 65


class MessageError(ValueError):
  """The data received is not a message of one of these kinds."""


@dataclasses.dataclass(frozen=True)
class Message:
  """A message of any kind."""


@dataclasses.dataclass(frozen=True)
class Setup(Message):
  """Tells a zygote how to prepare itself.

  Attributes:
    launcher: the pid of the launcher.
    preload: names of the modules to import.
    fork: whether the zygote forks the tasks off itself; if not, it starts a new
      interpreter for each task.
  """

  launcher: int
  preload: Sequence[str]
  fork: bool


@dataclasses.dataclass(frozen=True)
class NodeSetup(Message):
  """Tells a node's daemon how to prepare itself and its zygote.

  Attributes:
    host: the address at which other nodes reach this one.
    gpus: for each task's name, the number of accelerators that the task gets.
      Tasks without an accelerator are left out.
    preload: as in `Setup`.
    fork: as in `Setup`.
    env: environment variables that all tasks share; None unsets a variable.
  """

  host: str
  gpus: Mapping[str, int]
  preload: Sequence[str]
  fork: bool
  env: Mapping[str, str | None]


@dataclasses.dataclass(frozen=True)
class Order(Message):
  """Asks a zygote to start a task's process, and tells the process what to run.

  Attributes:
    task: the task's name, `label/index`.
    function_path: path of the file with the task's pickled function.
    error_path: path of the file for the traceback if the function raises an
      error.
    flags: absl flags, as on a command line.
    env: environment variables; None unsets a variable.
    interface: the IP address on which the task's Courier servers listen; empty
      for all addresses.
    ports: the numbers of the task's ports that other machines must not reach.
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
  """Asks to send a signal to a task's process.

  SIGKILL goes to all processes of the task's session.

  Attributes:
    task: the task's name.
    signum: the signal's number.
  """

  task: str
  signum: int


@dataclasses.dataclass(frozen=True)
class Reserve(Message):
  """Asks a daemon to reserve one more port of its node."""


@dataclasses.dataclass(frozen=True)
class Leave(Message):
  """Tells a daemon that the run no longer needs its node."""


@dataclasses.dataclass(frozen=True)
class Ready(Message):
  """Says that a zygote has imported its modules.

  Attributes:
    reason_not_to_fork: why the zygote cannot fork tasks, although it was told
      to; None if it can, or if it was not told to.
  """

  reason_not_to_fork: str | None


@dataclasses.dataclass(frozen=True)
class Failed(Message):
  """Says that a zygote could not import its modules, or that a node is lost.

  Attributes:
    error: the traceback, or a sentence that says what happened.
    node: the name of the node; None if a zygote itself sends the message.
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
    exit_code: the exit code of the process; minus the signal's number if a
      signal ended it.
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
    lines: the lines, without newlines at their ends.
  """

  task: str | None
  lines: Sequence[str]


@dataclasses.dataclass(frozen=True)
class StopCalled(Message):
  """Says that a task of the node has called `lp.stop()`."""


@dataclasses.dataclass(frozen=True)
class NodeLost(Message):
  """Says that a node is lost, and that another node will replace it.

  Attributes:
    tasks: the names of the lost node's tasks.
    error: a sentence that says how the node was lost.
  """

  tasks: Sequence[str]
  error: str


@dataclasses.dataclass(frozen=True)
class NodeReplaced(Message):
  """Says that another node has replaced a lost one.

  Attributes:
    tasks: the names of the lost node's tasks.
    addresses: the new addresses of these tasks, in the order in which their old
      addresses were reserved.
  """

  tasks: Sequence[str]
  addresses: Sequence[str]


_KINDS = {kind.__name__: kind for kind in Message.__subclasses__()}


def encode(message: Message) -> bytes:
  """Returns a message as one line of JSON, without a newline."""
  fields = dataclasses.asdict(message)
  return json.dumps({'kind': type(message).__name__, **fields}).encode()


def decode(data: bytes | str) -> Message:
  """Returns the message that `encode` has encoded.

  Raises:
    MessageError: the data is not a message of a known kind, or does not have
      exactly its fields.
  """
  try:
    fields = json.loads(data)
    kind = _KINDS[fields.pop('kind')]
    names = {field.name for field in dataclasses.fields(kind)}
  except (ValueError, KeyError, TypeError, AttributeError) as e:
    raise MessageError(f'this is not a message: {_short(data)}') from e
  if names != set(fields):
    raise MessageError(
      f'{kind.__name__} has the fields {sorted(names)}, but got {_short(data)}'
    )
  return kind(**fields)


def _short(data: bytes | str) -> str:
  return repr(data[:200])
