"""Runs the program with servers and learner on one host, all else on another.

python -m tests.namespaces.across RUN_DIR COMMAND FLAGS

It runs on the first host. COMMAND, a list as JSON, is the command that runs
another command on the second host.
"""

import contextlib
import functools
import json
import pathlib
import subprocess
import sys

import compat  # noqa: F401

from absl import flags

from backends.cluster import door as door_lib
from backends.cluster import hosts, joining, links, node_client
from backends.process import bootstrap
from benchmarks.support import network
from cli import (
  printing,
  roles,
  training_flags,  # noqa: F401  Defines the flags.
)
from cli import settings as settings_lib

_SERVERS = ('replay', 'variable_server', 'counter', 'learner')
_KEY = 'of this run'


def main(run_dir: pathlib.Path, on_b: list[str], argv: list[str]) -> int:
  flags.FLAGS(['across', *argv])
  run = settings_lib.make_settings(
    {name: flags.FLAGS[name].value for name in settings_lib.NAMES}
  )
  config = roles.run_config(str(run_dir / 'logs'), run.preload)
  tasks = {
    'a': [f'{role}/0' for role in _SERVERS],
    'b': [*(f'actor/{i}' for i in range(run.num_actors)), 'evaluator/0'],
  }
  with contextlib.ExitStack() as stack:
    door = stack.enter_context(contextlib.closing(door_lib.Door(_KEY.encode())))
    directory = stack.enter_context(joining.shared_directory(config))
    bootstrap.save_paths(directory)
    key_path = pathlib.Path(directory, 'key')
    key_path.write_text(_KEY)
    address = f'{network.Network.addresses["a"]}:{door.port}'
    for name, command in (('a', []), ('b', on_b)):
      join = bootstrap.command(
        'backends.cluster.join', directory, address, name, str(key_path)
      )
      stack.enter_context(subprocess.Popen([*command, *join]))
    nodes = [
      node_client.Node(
        name,
        dict.fromkeys(there, 0),
        functools.partial(_meet, door, name),
      )
      for name, there in tasks.items()
    ]
    result, _ = hosts.run(
      lambda: run.make_program(run_dir),
      nodes,
      directory,
      config=config,
      on_line=printing.Printer(),
    )
  if result.cause is not None:
    print(result.cause, file=sys.stderr, flush=True)
  return result.exit_code


def _meet(door: door_lib.Door, name: str, stderr: int) -> links.Link:
  del stderr
  return door.meet(name, 60.0)


if __name__ == '__main__':
  sys.exit(
    main(pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])
  )
