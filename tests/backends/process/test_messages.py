"""Messages are encoded and decoded; other data are an error."""

import os

import pytest

from backends.process import channels, messages

_EXAMPLES = [
  messages.Setup(7, ['jax'], True),
  messages.NodeSetup('10.0.0.1', {'a/0': 1}, ['jax'], True, {'A': None}),
  messages.Order('a/0', 'a.pkl', 'a.error', ['--n=1'], {'A': 'b'}, '', [7]),
  messages.Signal('a/0', 15),
  messages.Reserve(),
  messages.Leave(),
  messages.Ready(None),
  messages.Failed('no such module', None),
  messages.Started('a/0', 7),
  messages.Exited('a/0', -9),
  messages.Reserved('10.0.0.1:7'),
  messages.Lines(None, ['one', '\ud83d two']),
  messages.StopCalled(),
  messages.NodeLost(['a/0'], 'a is lost'),
  messages.NodeReplaced(['a/0'], ['10.0.0.1:7']),
]


@pytest.mark.parametrize('message', _EXAMPLES, ids=lambda m: type(m).__name__)
def test_a_message_comes_out_as_it_went_in(message):
  encoded = messages.encode(message)
  assert b'\n' not in encoded
  assert messages.decode(encoded) == message


def test_the_examples_have_each_kind_of_message():
  kinds = set(messages.Message.__subclasses__())
  assert {type(message) for message in _EXAMPLES} == kinds


@pytest.mark.parametrize(
  'data, error',
  [
    (b'Segmentation fault', 'not a message'),
    (b'[]', 'not a message'),
    (b'{}', 'not a message'),
    (b'{"kind": "Message"}', 'not a message'),
    (b'{"kind": "Destroy"}', 'not a message.*Destroy'),
    (b'{"kind": "Exited", "task": "a/0"}', 'Exited has the fields'),
    (b'{"kind": "Leave", "now": 1}', 'Leave has the fields'),
  ],
)
def test_anything_else_is_an_error_that_shows_it(data, error):
  with pytest.raises(messages.MessageError, match=error):
    messages.decode(data)


def test_a_stream_ends_if_something_else_than_a_message_comes():
  reader, writer = os.pipe()
  stream = channels.Stream(reader, writer)
  stream.send(messages.Leave())
  stream.send(messages.Ready(None))
  assert stream.receive() == [messages.Leave(), messages.Ready(None)]
  os.write(writer, b'Segmentation fault\n')
  assert stream.receive() is None
  os.close(reader)
  os.close(writer)
