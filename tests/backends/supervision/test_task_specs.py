"""A program is turned into tasks, which have addresses and can stop the run."""

import select
import socket

import launchpad as lp
import pytest
from launchpad import context
from launchpad.nodes import base

from backends.process import loopback
from backends.supervision import task_specs


class _Server:
  pass


class _OddNode(base.Node):
  def create_handle(self):
    return None

  @staticmethod
  def to_executables(nodes, label, launch_context):
    raise NotImplementedError


def _stopper(mark_as_completed=False):
  del mark_as_completed


def _tasks(program, **kwargs):
  addresses = iter(range(1, 100))
  return task_specs.from_program(
    program,
    program_stopper=_stopper,
    make_address=lambda label, index: loopback.FixedAddress(
      f'{label}-{index}.host:{next(addresses)}'
    ),
    **kwargs,
  )


def test_each_node_becomes_a_task_with_its_address_and_variables():
  program = lp.Program('test')
  with program.group('server'):
    handles = [program.add_node(lp.CourierNode(_Server)) for _ in range(2)]
  program.add_node(lp.PyNode(print, handles), label='tree/client')
  result = _tasks(program, env=lambda label: {'LABEL': label})
  assert [task.name for task in result] == [
    'server/0',
    'server/1',
    'tree/client/0',
  ]
  assert [[a.resolve() for a in task.addresses] for task in result] == [
    ['server-0.host:1'],
    ['server-1.host:2'],
    [],
  ]
  assert result[2].env == {'LABEL': 'tree/client'}
  assert result[2].file_stem == 'tree_client_0'


def test_a_node_sees_a_local_launch_and_this_stopper():
  program = lp.Program('test')
  program.add_node(lp.PyNode(context.get_context), label='node')
  (task,) = _tasks(program)
  seen = task.function()
  assert seen.launch_type is lp.LaunchType.LOCAL_MULTI_PROCESSING
  assert seen.program_stopper is _stopper


def test_a_handle_is_told_which_node_uses_it():
  connected = []

  class Handle(lp.CourierHandle):
    def connect(self, node, label):
      connected.append((node, label))

  program = lp.Program('test')
  node = lp.PyNode(print, Handle(lp.Address()))
  program.add_node(node, label='user')
  _tasks(program)
  assert connected == [(node, 'user')]


def test_a_node_without_a_function_is_refused():
  program = lp.Program('test')
  program.add_node(_OddNode(), label='odd')
  with pytest.raises(TypeError, match="_OddNode labelled 'odd'"):
    _tasks(program)


def test_ports_differ_and_stay_reserved():
  first, second = loopback.ReservedPorts(), loopback.ReservedPorts()
  try:
    addresses = [p.reserve().build() for p in (first, second) for _ in range(3)]
    assert len(set(addresses)) == 6
    host, _, port = addresses[0].partition(':')
    assert host == '127.0.0.1'
    # A socket without SO_REUSEADDR cannot bind the port ...
    with socket.socket() as stranger, pytest.raises(OSError):
      stranger.bind((host, int(port)))
    # ... but a server that sets it, like Python's own, can.
    with socket.create_server((host, int(port))):
      pass
  finally:
    first.close()
    second.close()


def test_a_stop_reaches_its_own_launcher_only(tmp_path):
  listener = loopback.StopListener(str(tmp_path / 'stop'))
  other = loopback.StopListener(str(tmp_path / 'other'))
  listener.stopper()
  listener.stopper(mark_as_completed=True)
  assert select.select([listener, other], [], [], 10)[0] == [listener]
  listener.clear()
  assert select.select([listener, other], [], [], 0)[0] == []
  stopper = listener.stopper
  listener.close()
  other.close()
  stopper()  # The listener is gone, so this does nothing.
