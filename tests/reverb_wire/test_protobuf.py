"""Fields are written and read as protobuf defines them."""

from reverb_wire import protobuf


def test_varints_are_protobufs():
  assert protobuf.varint(0) == b'\x00'
  assert protobuf.varint(300) == b'\xac\x02'


def test_what_is_written_is_read_again():
  message = protobuf.Message(
    count=(1, int), ratio=(2, float), name=(17, bytes), absent=(4, int)
  )
  content = message.encode(name=b'first', count=300, ratio=0.5)
  content += message.field('name', b'last')
  found = protobuf.Reader(60.0).read(content, message)
  assert (found.count, found.ratio, found.name, found.absent) == (
    *(300, 0.5, b'last', 0),
  )
