"""Checks that readers see no fault while servers and pushers are killed.

  python -m benchmarks.soak [--seconds=180] [--kill_every=5]

There is no peer: this passes or fails.

All leaves of a push contain the push's number. Readers check that all leaves
have the same number, and that neither numbers nor versions go back. At the end
all readers must get the last push. Each process checks that its memory does not
grow. The exit code is 0 if all checks pass.
"""

import multiprocessing
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import reverb
from absl import app, flags

import container
from system import linux

_SECONDS = flags.DEFINE_float('seconds', 180.0, 'Seconds of the whole test.')
_KILL_EVERY = flags.DEFINE_float('kill_every', 5.0, 'Seconds between kills.')
_HERTZ = flags.DEFINE_float('hertz', 100.0, 'Pushes per second.')
_PROCESSES = flags.DEFINE_integer('processes', 4, 'Processes that read.')
_THREADS = flags.DEFINE_integer('threads', 4, 'Readers in each of them.')
_LEAF_BYTES = flags.DEFINE_integer('leaf_bytes', 40_000, 'Bytes of a leaf.')

_LEAVES = 8
_GROWTH_BYTES = 48e6
_FORK = multiprocessing.get_context('fork')


def make_values(number: int) -> dict[str, np.ndarray]:
  size = _LEAF_BYTES.value // 8
  return {f'leaf_{i}': np.full(size, number, np.int64) for i in range(_LEAVES)}


def own_memory() -> int:
  """Returns the bytes of this process's own memory, without the host cache."""
  with open('/proc/self/status') as file:
    for line in file:
      if line.startswith('RssAnon'):
        return int(line.split()[1]) * 1024
  raise OSError('/proc/self/status has no RssAnon.')


class MemoryCheck:
  """Checks that this process's memory does not grow.

  The memory after a third of the test is the one that later memory may not
  exceed by much.
  """

  def __init__(self, name: str):
    self._name = name
    self._start = time.monotonic()
    self._first: int | None = None

  def __call__(self) -> None:
    if time.monotonic() - self._start < _SECONDS.value / 3:
      return
    memory = own_memory()
    if self._first is None:
      self._first = memory
    elif memory > self._first + _GROWTH_BYTES:
      raise AssertionError(
        f'{self._name} grew from {self._first:,} to {memory:,} bytes.'
      )


def serve(port: int) -> None:
  # A server stops when nothing refers to it any more.
  server = reverb.Server([container.variable_table(make_values(0))], port=port)
  check = MemoryCheck('the server')
  while server:
    time.sleep(0.2)
    check()


def push(address: str, counter) -> None:
  client = container.ReverbVariableContainer(address, leaf_type='numpy')
  check = MemoryCheck('the pusher')
  while True:
    start = time.monotonic()
    with counter.get_lock():
      counter.value += 1
      number = counter.value
    client.push(make_values(number))
    check()
    time.sleep(max(0.0, 1 / _HERTZ.value - (time.monotonic() - start)))


def read(address: str, use_cache: bool, newest) -> None:
  """Reads for ever; raises an error at the first fault.

  Args:
    address: host and port of the server.
    use_cache: whether to read the host's shared copy.
    newest: a shared integer that is set to the newest number read.
  """
  client = container.ReverbVariableContainer(
    address, leaf_type='numpy', host_cache=use_cache
  )
  last_version, last_number = 0, 0
  while True:
    snapshot = client.snapshot(newer_than=last_version)
    if snapshot is None:
      time.sleep(0.002)
      continue
    leaves = snapshot.values.values()
    numbers = {int(n) for leaf in leaves for n in (leaf.min(), leaf.max())}
    if len(numbers) != 1:
      raise AssertionError(f'Torn: {sorted(numbers)}')
    (number,) = numbers
    if snapshot.version <= last_version or number < last_number:
      raise AssertionError(
        f'Went back: version {last_version} to {snapshot.version}, '
        f'number {last_number} to {number}.'
      )
    last_version, last_number = snapshot.version, number
    newest.value = max(newest.value, number)


def read_all(address: str, newest: list) -> None:
  """Runs one process's readers, and ends the process if one of them fails.

  Args:
    address: host and port of the server.
    newest: a shared integer for each reader; see `read`.
  """
  check = MemoryCheck('a reader')

  def run(index: int) -> None:
    try:
      # One reader in each process does not use the host cache, so that both
      # ways are tested.
      read(address, index > 0, newest[index])
    except BaseException as error:
      print(f'reader {index}: {error!r}', file=sys.stderr, flush=True)
      os._exit(1)

  for index in range(_THREADS.value):
    threading.Thread(target=run, args=(index,), daemon=True).start()
  while True:
    time.sleep(0.2)
    check()


def start(target: Callable, *args) -> multiprocessing.Process:
  parent = os.getpid()

  def run():
    linux.die_with_parent(parent)
    target(*args)

  process = _FORK.Process(target=run)
  process.start()
  return process


def main(_) -> None:
  with socket.socket() as probe:
    probe.bind(('127.0.0.1', 0))
    port = probe.getsockname()[1]
  address = f'127.0.0.1:{port}'
  counter = _FORK.Value('q', 0)
  newest = [
    [_FORK.Value('q', 0) for _ in range(_THREADS.value)]
    for _ in range(_PROCESSES.value)
  ]
  roles = {
    'server': (serve, port),
    'pusher': (push, address, counter),
  }
  running = {name: start(*role) for name, role in roles.items()}
  readers = [start(read_all, address, values) for values in newest]
  end = time.monotonic() + _SECONDS.value
  kills = 0
  while time.monotonic() < end:
    time.sleep(min(_KILL_EVERY.value, max(0.0, end - time.monotonic())))
    dead = [reader for reader in readers if not reader.is_alive()]
    dead += [p for p in running.values() if not p.is_alive()]
    if dead:
      sys.exit(f'{dead} ended by itself.')
    name = random.choice(list(roles))
    # If a pusher were killed with the lock, it would never release it.
    with counter.get_lock():
      running[name].kill()
    running[name].join()
    running[name] = start(*roles[name])
    kills += 1
  _check_no_reader_is_stuck(counter, newest)
  for process in (*readers, *running.values()):
    process.kill()
    process.join()
  container.sweep()
  print(f'{counter.value} pushes, {kills} kills: nothing torn, nothing back.')


def _check_no_reader_is_stuck(counter, newest: list) -> None:
  goal, deadline = counter.value, time.monotonic() + 60
  behind = [value for values in newest for value in values]
  while behind:
    behind = [value for value in behind if value.value < goal]
    if time.monotonic() > deadline:
      sys.exit(f'{len(behind)} readers are stuck before {goal}.')
    time.sleep(0.05)


if __name__ == '__main__':
  app.run(main)
