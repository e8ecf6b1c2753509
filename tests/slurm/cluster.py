"""A real Slurm with two nodes on this machine, for as long as a test needs it.

Two `slurmd` stand for two nodes beside one `slurmctld`. Configuration, state,
logs and the key of `munged` are in a folder of its own, and it takes ports that
are free when it starts. So another Slurm on the machine does not disturb it.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator, Mapping

from tests import helpers

NODES = ('node1', 'node2')
_DAEMONS = ('munged', 'slurmctld', 'slurmd')
_SBIN = ('/usr/sbin', '/usr/local/sbin', '/sbin')
_PATH = os.pathsep.join([os.environ.get('PATH', ''), *_SBIN])

_CONF = """\
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={ctld_port}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
# A requeued job waits until the credential of its first start has expired.
AuthInfo=socket={directory}/munge.socket,cred_expire=5
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
SchedulerParameters=sched_interval=1,bf_interval=1
GresTypes=gpu
NodeName=node1 NodeHostname=localhost NodeAddr=127.0.0.1 Port={port1} \
CPUs=8 RealMemory=8000 Gres=gpu:2
NodeName=node2 NodeHostname=localhost NodeAddr=127.0.0.1 Port={port2} \
CPUs=8 RealMemory=8000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# Two copies of /dev/null stand in for GPUs.
_GRES = 'NodeName=node1 Name=gpu File={directory}/gpu[0-1]\n'


def missing() -> str | None:
  """Returns why there can be no cluster here; None if there can."""
  for daemon in _DAEMONS:
    if shutil.which(daemon, path=_PATH) is None:
      return f'{daemon} is missing: apt-get install slurm-wlm munge'
  if os.geteuid() != 0:
    return 'slurmctld and slurmd of the tests need root'
  return None


@contextlib.contextmanager
def running(directory: pathlib.Path) -> Iterator[Mapping[str, str]]:
  """Starts the daemons; yields the environment of Slurm's commands."""
  _write(directory)
  env = {**os.environ, 'SLURM_CONF': str(directory / 'slurm.conf')}
  daemons = [
    _munged(directory),
    ['slurmctld', '-D'],
    *(['slurmd', '-D', '-N', node] for node in NODES),
  ]
  with contextlib.ExitStack() as stack:
    for command in daemons:
      stack.enter_context(_daemon(command, directory, env))
      if command[0] == 'munged':
        helpers.wait_until((directory / 'munge.socket').exists, 'munged')
    helpers.wait_until(
      lambda: _states(env) == {'idle'}, 'both nodes to be idle', 60.0
    )
    yield env


def _write(directory: pathlib.Path) -> None:
  for name in ('state', *(f'spool-{node}' for node in NODES)):
    (directory / name).mkdir()
  for index in range(2):
    os.mknod(directory / f'gpu{index}', stat.S_IFCHR | 0o600, os.makedev(1, 3))
  ports = dict(
    zip(('ctld_port', 'port1', 'port2'), _free_ports(3), strict=True)
  )
  conf = _CONF.format(directory=directory, **ports)
  (directory / 'slurm.conf').write_text(conf)
  (directory / 'gres.conf').write_text(_GRES.format(directory=directory))
  key = directory / 'munge.key'
  key.write_bytes(os.urandom(128))
  key.chmod(0o600)


def _munged(directory: pathlib.Path) -> list[str]:
  return [
    *('munged', '--foreground', '--force'),
    f'--socket={directory}/munge.socket',
    f'--key-file={directory}/munge.key',
    f'--pid-file={directory}/munged.pid',
    f'--seed-file={directory}/munge.seed',
    f'--log-file={directory}/munged.log',
  ]


def _free_ports(count: int) -> list[int]:
  with contextlib.ExitStack() as stack:
    sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
    for each in sockets:
      each.bind(('127.0.0.1', 0))
    return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def _daemon(
  command: list[str], directory: pathlib.Path, env: Mapping[str, str]
) -> Iterator[None]:
  executable = shutil.which(command[0], path=_PATH)
  with open(directory / f'{command[0]}.output', 'a') as output:
    process = subprocess.Popen(
      [executable, *command[1:]],
      env=env,
      stdin=subprocess.DEVNULL,
      stdout=output,
      stderr=output,
      start_new_session=True,
    )
  try:
    yield
  finally:
    process.send_signal(signal.SIGTERM)
    try:
      process.wait(20)
    except subprocess.TimeoutExpired:
      process.kill()
      process.wait()


def _states(env: Mapping[str, str]) -> set[str]:
  states = subprocess.run(
    ['sinfo', '-h', '-N', '-o', '%t'],
    env=env,
    capture_output=True,
    text=True,
    check=False,
  )
  return set(states.stdout.split())
