"""A Reverb server whose tables hold clients up, each in another way."""

import threading

import reverb
from reverb import pybind


class _Narrow(reverb.rate_limiters.RateLimiter):
  """A limiter that blocks both sides, which Reverb's own classes refuse."""

  def __init__(self):
    super().__init__(
      pybind.RateLimiter(
        samples_per_insert=4.0,
        min_size_to_sample=1,
        min_diff=1.0,
        max_diff=2.0,
      )
    )


def _ratio():
  return reverb.rate_limiters.SampleToInsertRatio(4.0, 5, 20.0)


def _table(name, limiter):
  return reverb.Table(
    name, reverb.selectors.Uniform(), reverb.selectors.Fifo(), 100, limiter
  )


def _insert(address, table, count):
  client = reverb.Client(address)
  for _ in range(count):
    client.insert([1.0], {table: 1.0})


def _sample(address, table):
  list(reverb.Client(address).sample(table, 1000))


def main():
  server = reverb.Server(
    [
      _table('idle', reverb.rate_limiters.MinSize(1)),
      _table('hungry', _ratio()),
      _table('full', _ratio()),
      _table('deadlocked', _Narrow()),
    ]
  )
  address = f'127.0.0.1:{server.port}'
  for function, *args in (
    (_insert, 'hungry', 6),
    (_insert, 'full', 60),
    (_insert, 'deadlocked', 3),
    (_sample, 'hungry'),
    (_sample, 'deadlocked'),
  ):
    threading.Thread(target=function, args=(address, *args)).start()
  print(address, flush=True)
  server.wait()


if __name__ == '__main__':
  main()
