"""The replay server saves its tables, and loads them after a kill."""

import os
import signal

import launchpad as lp
import numpy as np
import reverb

from backends.local import this_machine
from nodes import replay
from run_files import status
from tests import helpers


def _tables():
  return [
    reverb.Table(
      'replay',
      reverb.selectors.Uniform(),
      reverb.selectors.Fifo(),
      max_size=100,
      rate_limiter=reverb.rate_limiters.MinSize(1),
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
