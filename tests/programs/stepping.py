"""Launches programs without their loops; tests call the steps by handles."""

import contextlib

import launchpad as lp


@contextlib.contextmanager
def launched(program, serialize):
  """Launches a program in threads of this process; yields it.

  Args:
    program: a program that `distributed.make_program` made.
    serialize: whether the nodes are pickled first, as for other processes.
  """
  for label in ('learner', 'actor', 'evaluator', 'counter'):
    for node in program.groups.get(label, ()):
      node.disable_run()
  manager = lp.launch(
    program, launch_type='test_mt', serialize_py_nodes=serialize
  )
  yield program
  manager.cleanup_after_test(None)


def client(program, label, index=0):
  """Returns a client of a node. If it is a Courier node, calls have a deadline.

  Args:
    program: a launched program.
    label: the node's group.
    index: the node's index in its group, from 0.
  """
  handle = program.groups[label][index].create_handle()
  if isinstance(handle, lp.CourierHandle):
    handle.set_client_kwargs(call_timeout=100)
  return handle.dereference()
