"""Reads what a Reverb server says about itself and its tables."""

from typing import NamedTuple

from reverb_wire import messages, protobuf, table_info


class ServerInfo(NamedTuple):
  """What a server says about itself.

  Attributes:
    identity: Bytes that the server draws anew at each start.
    tables: The server's tables by name.
  """

  identity: bytes
  tables: dict[str, table_info.TableInfo]


def read(response: bytes, seconds: float) -> ServerInfo:
  """Reads the response to `messages.SERVER_INFO_METHOD` (its request is empty).

  Args:
    response: A serialized `ServerInfoResponse`.
    seconds: The seconds that reading may take.

  Raises:
    MalformedError: the response is malformed, or reading took too long.
  """
  reader = protobuf.Reader(seconds)
  identity, tables = b'', {}
  for name, value in reader.fields(response, messages.SERVER_INFO_RESPONSE):
    if name == 'tables_state_id':
      identity = bytes(value)
    else:
      table = _read_table(reader, value)
      tables[table.name] = table
  return ServerInfo(_known(identity), tables)


def read_identity(response: bytes, seconds: float) -> bytes:
  """Reads only the server's identity, as `read` does."""
  reader = protobuf.Reader(seconds)
  for name, value in reader.fields(response, messages.SERVER_INFO_RESPONSE):
    if name == 'tables_state_id':
      return _known(bytes(value))
  return _known(b'')


def _known(identity: bytes) -> bytes:
  if not identity:
    raise protobuf.MalformedError('the server has sent no identity')
  return identity


def _read_table(
  reader: protobuf.Reader, content: memoryview
) -> table_info.TableInfo:
  table = reader.read(content, messages.TABLE_INFO)
  limiter = reader.read(table.rate_limiter_info, messages.RATE_LIMITER_INFO)
  time = reader.read(table.table_worker_time, messages.TABLE_WORKER_TIME)
  return table_info.TableInfo(
    name=protobuf.text(table.name),
    size=table.current_size,
    max_size=table.max_size,
    inserts=_completed(reader, limiter.insert_stats),
    samples=_completed(reader, limiter.sample_stats),
    samples_per_insert=limiter.samples_per_insert,
    min_diff=limiter.min_diff,
    max_diff=limiter.max_diff,
    min_size=limiter.min_size_to_sample,
    # When all open calls wait to sample, the table's worker waits for inserts.
    samplers_waited=time.waiting_for_inserts_ms,
    inserters_waited=time.waiting_for_sampling_ms,
    signature=table.signature or None,
  )


def _completed(reader: protobuf.Reader, stats: memoryview) -> int:
  return reader.read(stats, messages.RATE_LIMITER_CALL_STATS).completed
