"""Tables of a Reverb server, as it describes them itself.

The field numbers are those of Reverb 0.7's `reverb_service.proto` and
`schema.proto`.
"""

from typing import NamedTuple

from reverb_wire import protobuf

METHOD = '/deepmind.reverb.ReverbService/ServerInfo'

_PART = memoryview
_RESPONSE = {1: _PART, 2: _PART}
_TABLE = {3: int, 5: _PART, 6: _PART, 7: int, 8: _PART, 12: _PART}
_RATE_LIMITER = {1: float, 2: float, 3: float, 4: int, 5: _PART, 6: _PART}
_CALLS = {2: int}
_WORKER_TIME = {5: int, 6: int}


class TableInfo(NamedTuple):
  """A table at one moment.

  Attributes:
    name: Its name.
    size: Items in it.
    max_size: Items that it holds at most.
    inserts: Items put in so far.
    samples: Items sampled so far.
    samples_per_insert: Of its rate limiter, as are the next three.
    min_diff: Below which nothing is sampled.
    max_diff: Above which nothing is inserted.
    min_size: Items without which nothing is sampled.
    samplers_waited: Milliseconds that it has had nobody but waiting samplers.
    inserters_waited: The same of inserters.
    signature: A `StructuredValue`, serialized; None if it has none.
  """

  name: str
  size: int
  max_size: int
  inserts: int
  samples: int
  samples_per_insert: float
  min_diff: float
  max_diff: float
  min_size: int
  samplers_waited: int
  inserters_waited: int
  signature: memoryview | None


class ServerInfo(NamedTuple):
  """What a server says of itself.

  Attributes:
    identity: Drawn anew by the server at each start.
    tables: By name.
  """

  identity: bytes
  tables: dict[str, TableInfo]


def read(answer: bytes, seconds: float) -> ServerInfo:
  """Reads the answer to `METHOD`, whose request is empty.

  Args:
    answer: A serialized `ServerInfoResponse`.
    seconds: That reading may take.

  Raises:
    MalformedError: it is none, or it took too long.
  """
  reader = protobuf.Reader(seconds)
  identity, tables = b'', {}
  for number, value in reader.fields(answer, _RESPONSE):
    if number == 1:
      identity = bytes(value)
    else:
      table = _table(reader, value)
      tables[table.name] = table
  if not identity:
    raise protobuf.MalformedError('it has no identity')
  return ServerInfo(identity, tables)


def _table(reader: protobuf.Reader, message: memoryview) -> TableInfo:
  info = reader.last(message, _TABLE)
  rate = reader.last(info.get(5, b''), _RATE_LIMITER)
  worker = reader.last(info.get(12, b''), _WORKER_TIME)
  return TableInfo(
    name=protobuf.text(info.get(8, memoryview(b''))),
    size=info.get(7, 0),
    max_size=info.get(3, 0),
    inserts=_completed(reader, rate.get(5, b'')),
    samples=_completed(reader, rate.get(6, b'')),
    samples_per_insert=rate.get(1, 0.0),
    min_diff=rate.get(2, 0.0),
    max_diff=rate.get(3, 0.0),
    min_size=rate.get(4, 0),
    samplers_waited=worker.get(6, 0),
    inserters_waited=worker.get(5, 0),
    signature=info.get(6),
  )


def _completed(reader: protobuf.Reader, stats: bytes | memoryview) -> int:
  return reader.last(stats, _CALLS).get(2, 0)
