"""A gRPC server that answers in Reverb's place, whatever it is told to."""

import contextlib
from concurrent import futures

import grpc

from reverb_wire import samples

_SERVICE = 'deepmind.reverb.ReverbService'


class Answers:
  """What to answer; may be changed at any time.

  Attributes:
    info: To a question for tables.
    sample: To one for an item, one after another.
    insert: To items that are put in, likewise.
  """

  def __init__(self, info=b'', sample=(), insert=()):
    self.info, self.sample, self.insert = info, sample, insert


@contextlib.contextmanager
def answering(answers):
  """Yields the address of a server that gives these answers."""

  def insert(requests, context):
    for _ in requests:
      break
    yield from answers.insert

  server = grpc.server(futures.ThreadPoolExecutor(8))
  handlers = {
    'ServerInfo': grpc.unary_unary_rpc_method_handler(
      lambda request, context: answers.info
    ),
    'SampleStream': grpc.stream_stream_rpc_method_handler(
      lambda requests, context: iter(answers.sample)
    ),
    'InsertStream': grpc.stream_stream_rpc_method_handler(insert),
  }
  server.add_generic_rpc_handlers(
    (grpc.method_handlers_generic_handler(_SERVICE, handlers),)
  )
  port = server.add_insecure_port('127.0.0.1:0')
  server.start()
  try:
    yield f'127.0.0.1:{port}'
  finally:
    server.stop(None).wait()


def record(address, table):
  """What a real server answers."""
  with grpc.insecure_channel(address) as channel:
    info = channel.unary_unary(f'/{_SERVICE}/ServerInfo')(b'')
    call = channel.unary_stream(f'/{_SERVICE}/SampleStream')(
      samples.encode_request(table, 5.0)
    )
    return Answers(info, list(call))
