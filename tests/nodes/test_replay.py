"""The replay server saves its tables, and loads them after a kill."""

import os
import signal

import launchpad as lp
import numpy as np
import reverb
import tensorflow as tf

from backends.local import this_machine
from nodes import replay
from run_files import status
from tests import helpers


def _tables(signature=None):
  return [
    reverb.Table(
      'replay',
      reverb.selectors.Uniform(),
      reverb.selectors.Fifo(),
      max_size=100,
      rate_limiter=reverb.rate_limiters.MinSize(1),
      signature=signature,
    )
  ]


def _kill_when_saved(client, directory, status_dir):
  """Inserts an item, kills the server after a save, and samples the item."""
  client.insert([np.float32(7)], {'replay': 1.0})
  seen = set(directory.glob('*/DONE'))
  helpers.wait_until(
    lambda: set(directory.glob('*/DONE')) - seen, 'a checkpoint'
  )
  (server,) = (
    task for task in status.read(status_dir).tasks if task.label == 'replay'
  )
  os.kill(server.pid, signal.SIGKILL)
  (sample,) = next(iter(client.sample('replay', emit_timesteps=True)))
  print('kept', sample.data[0])
  lp.stop()


def test_a_killed_server_goes_on_from_its_checkpoint(tmp_path):
  directory = tmp_path / 'checkpoints'
  program = lp.Program('replay')
  checkpointing = replay.ReplayCheckpointing(str(directory), every_seconds=0.1)
  with program.group('replay'):
    server = program.add_node(
      replay.ReplayNode(_tables, checkpointing=checkpointing)
    )
  with program.group('client'):
    program.add_node(
      lp.PyNode(_kill_when_saved, server, directory, str(tmp_path))
    )
  result, lines = helpers.run(
    program,
    preload=['reverb'],
    restart={'replay': this_machine.RestartPolicy()},
    stop_order=[['client'], ['replay']],
    log_dir=str(tmp_path),
  )
  assert result.exit_code == 0, lines.all
  assert result.restarts['replay/0'] == 1
  assert lines.of('client/0')[-1] == 'kept 7.0'


def _run_with_items(shape, tmp_path):
  """Runs a server until it has saved a table whose items have this shape."""

  def stop(client):
    client.server_info()
    lp.stop()

  program = lp.Program('replay')
  checkpointing = replay.ReplayCheckpointing(str(tmp_path / 'saved'), 60.0)
  with program.group('replay'):
    server = program.add_node(
      replay.ReplayNode(
        _tables, tf.TensorSpec(shape, tf.uint8), checkpointing=checkpointing
      )
    )
  with program.group('client'):
    program.add_node(lp.PyNode(stop, server))
  return helpers.run(
    program,
    preload=['reverb'],
    stop_order=[['client'], ['replay']],
    log_dir=str(tmp_path),
  )


def test_a_checkpoint_with_other_items_is_an_error_with_a_way_out(tmp_path):
  result, lines = _run_with_items((3,), tmp_path)
  assert result.exit_code == 0, lines.all
  assert _run_with_items((3,), tmp_path)[0].exit_code == 0
  result, lines = _run_with_items((4,), tmp_path)
  assert result.exit_code == 1
  *_, line = (line for line in lines.of('replay/0') if 'MismatchError' in line)
  assert "in its table 'replay' an item is (uint8(3,)), and now" in line
  assert 'Delete the folder' in line
