"""Runs a program with a Courier server and a Reverb server on one machine.

python -m tests.namespaces.guarded DIRECTORY

Once a client has used both, the file `servers` in that directory has their
ports, and the pid of the Courier server.
"""

import json
import os
import pathlib
import socket
import sys

import launchpad as lp
import reverb
from launchpad import address as lp_address

from backends.local import this_machine
from nodes import replay


class _Courier:
  def pid(self):
    return os.getpid()


def _tables():
  fifo = reverb.selectors.Fifo()
  return [reverb.Table('t', fifo, fifo, 1, reverb.rate_limiters.MinSize(1))]


def _use(directory, courier, replay_client, addresses):
  told = {role: _port(address) for role, address in addresses.items()}
  with socket.create_server(('', 0)) as own:
    told['own'] = own.getsockname()[1]
    assert 't' in replay_client.server_info()
    while not lp.wait_for_stop(0.1):
      # The server may have started again since.
      told['pid'] = courier.pid()
      path = pathlib.Path(directory) / 'new'
      path.write_text(json.dumps(told))
      path.rename(path.with_name('servers'))


def _port(address):
  return lp_address.get_port_from_address(address.resolve())


def main(directory):
  program = lp.Program('guarded')
  courier, tables = lp.CourierNode(_Courier), replay.ReplayNode(_tables)
  handles = [
    program.add_node(node, label=label)
    for label, node in (('courier', courier), ('reverb', tables))
  ]
  (replay_address,) = tables.addresses
  addresses = {'courier': courier.courier_address, 'reverb': replay_address}
  client = lp.PyNode(_use, directory, *handles, addresses)
  program.add_node(client, label='client')
  again = {'courier': this_machine.RestartPolicy()}
  return this_machine.run(
    program, config=this_machine.RunConfig(restart=again)
  ).exit_code


if __name__ == '__main__':
  sys.exit(main(sys.argv[1]))
