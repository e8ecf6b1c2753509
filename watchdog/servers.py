"""Asks the servers of a run what they are doing; each call has a deadline.

A Reverb server answers with the state of its tables. A server of calls greets
each caller before it asks for the run's call key; that greeting shows that it
is there.
"""

import time
from collections.abc import Iterable
from typing import NamedTuple

import grpc

from reverb_wire import messages, protobuf, server_info, table_info
from rpc import sealed

_TIMEOUT = 0.5
# Seconds between two looks at a table, which tell whether clients wait.
_INTERVAL = 0.3
# Seconds between two questions of a poller.
_POLL_SECONDS = 1.0
# If the environment names a proxy, gRPC would use it even for this machine.
_OPTIONS = (('grpc.enable_http_proxy', 0),)


class Waiting(NamedTuple):
  """A table, and which clients wait there.

  Attributes:
    table: what the server says about the table.
    samplers: whether clients wait to sample, and nothing is sampled.
    inserters: whether clients wait to insert, and nothing is inserted.
  """

  table: table_info.TableInfo
  samplers: bool
  inserters: bool


class Servers(NamedTuple):
  """The answers of a run's servers.

  Attributes:
    tables: the tables of each Reverb server, by its address.
    silent: the addresses that gave no answer, or a malformed one.
  """

  tables: dict[str, list[Waiting]]
  silent: set[str]


def ask(addresses: Iterable[str]) -> Servers:
  """Asks all servers at once, which takes two seconds at most.

  Args:
    addresses: the servers' addresses, `host:port` each.
  """
  channels = {
    address: grpc.insecure_channel(address, options=_OPTIONS)
    for address in set(addresses)
  }
  try:
    before, silent = _ask_once(channels)
    silent -= sealed.present(silent, _TIMEOUT)
    if not before:
      return Servers({}, silent)
    time.sleep(_INTERVAL)
    after, _ = _ask_once({address: channels[address] for address in before})
  finally:
    for channel in channels.values():
      channel.close()
  tables = {
    address: [
      _compare(before[address].get(name), table)
      for name, table in sorted(after[address].items())
    ]
    for address in after
  }
  return Servers(tables, silent | (before.keys() - after.keys()))


def _ask_once(
  channels: dict[str, grpc.Channel],
) -> tuple[dict[str, dict[str, table_info.TableInfo]], set[str]]:
  """Returns tables by address and name, and the addresses without answer."""
  calls = {
    address: channel.unary_unary(messages.SERVER_INFO_METHOD).future(
      b'', timeout=_TIMEOUT
    )
    for address, channel in channels.items()
  }
  tables, silent = {}, set()
  for address, call in calls.items():
    try:
      tables[address] = _tables(call.result())
    except grpc.RpcError as e:
      if e.code() in (
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNAVAILABLE,
      ):
        silent.add(address)
    except protobuf.MalformedError:
      silent.add(address)
  return tables, silent


class TablesPoller:
  """Asks one Reverb server for its tables every second, and never waits."""

  def __init__(self):
    self._address: str | None = None
    self._channel: grpc.Channel | None = None
    self._call: grpc.Future | None = None
    self._asked = float('-inf')
    self._tables: list[table_info.TableInfo] = []

  def poll(self, address: str) -> list[table_info.TableInfo]:
    """Returns the newest answer; no tables while the server does not answer.

    Args:
      address: the server's address, `host:port`.
    """
    if address != self._address:
      self.close()
      self._address = address
      self._channel = grpc.insecure_channel(address, options=_OPTIONS)
    if self._call is not None and self._call.done():
      try:
        tables = _tables(self._call.result())
      except (grpc.RpcError, protobuf.MalformedError):
        tables = {}
      self._tables = [tables[name] for name in sorted(tables)]
      self._call = None
    if self._call is None and time.monotonic() - self._asked > _POLL_SECONDS:
      self._asked = time.monotonic()
      method = self._channel.unary_unary(messages.SERVER_INFO_METHOD)
      self._call = method.future(b'', timeout=_TIMEOUT)
    return self._tables

  def close(self) -> None:
    """Closes the connection to the server."""
    if self._channel is not None:
      self._channel.close()
    self._call, self._tables = None, []


def _compare(
  before: table_info.TableInfo | None, after: table_info.TableInfo
) -> Waiting:
  before = before or after
  stood_still = (before.inserts, before.samples) == (
    after.inserts,
    after.samples,
  )
  half = _INTERVAL * 1000 / 2
  samplers = after.samplers_waited - before.samplers_waited > half
  inserters = after.inserters_waited - before.inserters_waited > half
  # If both kinds wait, Reverb counts only the samplers' time.
  both = samplers and after.blocks_samples and after.blocks_inserts
  return Waiting(
    after, stood_still and samplers, stood_still and (inserters or both)
  )


def _tables(info: bytes) -> dict[str, table_info.TableInfo]:
  """Returns the tables in a server's answer, by name.

  Raises:
    MalformedError: the answer is malformed.
  """
  return server_info.read(info, _TIMEOUT).tables
