"""A gRPC server in Reverb's place, which gives the answers that a test sets."""

import contextlib
from concurrent import futures

import grpc

from reverb_wire import messages, samples

_SERVICE = 'deepmind.reverb.ReverbService'


class Answers:
  """The server's answers, which a test may change at any time.

  Attributes:
    info: The serialized response to a question for tables.
    sample: The serialized responses to a request for an item, in order.
    insert: The serialized responses to an insert, in order.
  """

  def __init__(self, info=b'', sample=(), insert=()):
    self.info, self.sample, self.insert = info, sample, insert


@contextlib.contextmanager
def answering(answers):
  """Runs a server that gives these answers, and yields its address."""

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
  """Returns the answers of a real server."""
  with grpc.insecure_channel(address) as channel:
    info = channel.unary_unary(messages.SERVER_INFO_METHOD)(b'')
    call = channel.unary_stream(messages.SAMPLE_METHOD)(
      samples.encode_request(table, 5.0)
    )
    return Answers(info, list(call))
