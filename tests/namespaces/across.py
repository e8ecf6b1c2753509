"""Runs the program with servers and learner on one host, all else on another.

python -m tests.namespaces.across RUN_DIR NODES FLAGS: NODES is JSON, for each
host its address and the command that runs another there.
"""

import json
import pathlib
import sys

import compat  # noqa: F401

from absl import flags

import launch  # noqa: F401  Defines the flags.
from backends import bootstrap, fleet, hosts
from programs import roles
from programs import settings as settings_lib

_SERVERS = ('replay', 'variable_server', 'counter', 'learner')


def main(run_dir: pathlib.Path, hosts_json: str, argv: list[str]) -> int:
  flags.FLAGS(['across', *argv])
  run = settings_lib.make_settings(
    {name: flags.FLAGS[name].value for name in settings_lib.NAMES}
  )
  directory = run_dir / 'nodes'
  directory.mkdir(parents=True)
  tasks = {
    'a': [f'{role}/0' for role in _SERVERS],
    'b': [*(f'actor/{i}' for i in range(run.num_actors)), 'evaluator/0'],
  }
  nodes = [
    fleet.started(
      name,
      host['address'],
      dict.fromkeys(tasks[name], 0),
      [*host['command'], *bootstrap.command('agent', str(directory))],
    )
    for name, host in json.loads(hosts_json).items()
  ]
  result, _ = hosts.run(
    lambda: run.make_program(run_dir),
    nodes,
    str(directory),
    config=roles.local_config(str(run_dir / 'logs'), run.preload),
    on_line=roles.Printer(),
  )
  if result.cause is not None:
    print(result.cause, file=sys.stderr, flush=True)
  return result.exit_code


if __name__ == '__main__':
  sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
