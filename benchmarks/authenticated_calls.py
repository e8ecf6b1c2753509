"""Measures what authentication costs a call between two tasks of a run.

  python -m benchmarks.authenticated_calls

Peer: plain Courier, which `rpc` replaces in the tasks of a run.

Each call sends an array to another process and gets it back. The two sides take
turns. The benchmark prints the medians in microseconds, for arrays of several
sizes in bytes.
"""

import multiprocessing
import secrets
import statistics
import time
from collections.abc import Callable

import courier
import numpy as np
from absl import app, flags

from rpc import client
from rpc import server as call_server

_ROUNDS = flags.DEFINE_integer('rounds', 5, 'Turns of each side.')
_SECONDS = flags.DEFINE_float('seconds', 1.0, 'Seconds of one turn.')
_SIZES = (0, 1_000, 100_000, 1_000_000, 10_000_000)
_LIVING = 60.0


def _serve(key: bytes | None, pipe) -> None:
  if key is None:
    server = courier.Server()
  else:
    call_server.Server.key = key
    call_server.Server.interface = '127.0.0.1'
    server = call_server.Server()
  server.Bind('echo', lambda x: x)
  server.Start()
  pipe.send(server.port)
  pipe.recv()


def _microseconds(echo: Callable[[np.ndarray], np.ndarray], size: int) -> float:
  """Returns the median time of the calls of one turn.

  Args:
    echo: sends an array to the other process and returns it.
    size: the size of the array, in bytes.
  """
  array = np.zeros(size, np.uint8)
  echo(array)
  times, end = [], time.perf_counter() + _SECONDS.value
  while not times or time.perf_counter() < end:
    began = time.perf_counter()
    echo(array)
    times.append(time.perf_counter() - began)
  return statistics.median(times) * 1e6


def main(argv) -> None:
  del argv
  key = secrets.token_bytes()
  client.Client.key = key
  spawn = multiprocessing.get_context('spawn')
  clients, pipes = {}, []
  for name, own_key, kind in (
    ('key', key, client.Client),
    ('Courier', None, courier.Client),
  ):
    pipe, theirs = spawn.Pipe()
    spawn.Process(target=_serve, args=[own_key, theirs], daemon=True).start()
    if not pipe.poll(_LIVING):
      raise TimeoutError(f'the server of {name!r} did not start')
    address = f'127.0.0.1:{pipe.recv()}'
    clients[name] = kind(address, call_timeout=_LIVING)
    pipes.append(pipe)
  print(f'{"bytes":>10}{"with key, us":>15}{"Courier, us":>15}{"ratio":>8}')
  for size in _SIZES:
    turns = [
      {name: _microseconds(c.echo, size) for name, c in clients.items()}
      for _ in range(_ROUNDS.value)
    ]
    ours, theirs = (
      statistics.median(turn[name] for turn in turns) for name in clients
    )
    print(f'{size:>10,}{ours:>15,.0f}{theirs:>15,.0f}{ours / theirs:>8.2f}')
  for pipe in pipes:
    pipe.send(None)


if __name__ == '__main__':
  app.run(main)
