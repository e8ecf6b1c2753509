"""The process that all tasks of a run descend from.

It imports heavy modules once and forks the tasks, so that a task starts in a
fraction of a second. It also is what keeps a run from leaving anything behind:
it adopts orphans, and kills all its descendants when it loses the launcher.

It must stay clean enough to fork: one thread, no client, no server, no JAX
backend. If the modules that it was told to import start threads, it says so and
every task is then an interpreter of its own, as with `start='spawn'`.
"""

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import psutil

from backends.process import bootstrap, env_vars, messages
from system import linux

# How long killed processes may take to vanish before they are given up.
_REAP_SECS = 5.0


class Zygote:
  """Starts, signals and reaps tasks as the launcher asks.

  `serve` returns twice, like fork: in the zygote None, at the end; in each
  forked task the order that it is to run.
  """

  def __init__(self, channel: messages.Channel, directory: str, fork: bool):
    self._channel = channel
    self._directory = directory
    self._fork = fork
    self._pid = os.getpid()
    self._tasks: dict[int, str] = {}
    self._wakeup, writer = socket.socketpair()
    self._wakeup.setblocking(False)
    writer.setblocking(False)
    self._wakeup_writer = writer
    # A fork has it blocked until it can answer a request to stop.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno())

  def serve(self) -> messages.Order | None:
    """Serves until the launcher ends or lets go of its end.

    Returns:
      None; or in a forked task, what it is to run.
    """
    with selectors.DefaultSelector() as selector:
      selector.register(self._channel, selectors.EVENT_READ)
      selector.register(self._wakeup, selectors.EVENT_READ)
      while True:
        for key, _ in selector.select():
          if key.fileobj is self._wakeup:
            self._wakeup.recv(4096)
            self._reap()
            continue
          request, descriptors = self._channel.receive()
          if request is None:
            self._kill_descendants()
            return None
          order = self._handle(request, descriptors)
          if order is not None:
            return order

  def _handle(
    self, request: dict[str, Any], descriptors: Sequence[int]
  ) -> messages.Order | None:
    if request['do'] == 'start':
      return self._start(messages.Order(*request['order']), descriptors[0])
    for pid, task in self._tasks.items():
      if task == request['task']:
        if request['signal'] == signal.SIGKILL:
          linux.kill_session(pid)
        os.kill(pid, request['signal'])
    return None

  def _start(self, order: messages.Order, output: int) -> messages.Order | None:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
      os.close(output)
      self._tasks[pid] = order.task
      self._channel.send({'event': 'started', 'task': order.task, 'pid': pid})
      return None
    signal.set_wakeup_fd(-1)
    for end in (self._wakeup, self._wakeup_writer, self._channel):
      end.close()
    linux.take_own_session(self._pid, output)
    if not self._fork:
      self._become_interpreter(order)
    return order

  def _become_interpreter(self, order: messages.Order) -> NoReturn:
    # An interpreter that still imports has nothing to save.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    command = bootstrap.command(
      'backends.process.task_main', self._directory, json.dumps(order)
    )
    os.execve(command[0], command, env_vars.merged(order.env))

  def _reap(self) -> None:
    while True:
      # Left unreaped until its session is dead, so that the pid, which names
      # the session, cannot be somebody else's.
      with contextlib.suppress(ChildProcessError):
        dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if dead is not None:
          if dead.si_pid in self._tasks:
            linux.kill_session(dead.si_pid)
          _, status = os.waitpid(dead.si_pid, 0)
          self._report(dead.si_pid, os.waitstatus_to_exitcode(status))
          continue
      return

  def _report(self, pid: int, exit_code: int) -> None:
    task = self._tasks.pop(pid, None)
    if task is not None:
      # A launcher which is gone shows at the next receive.
      with contextlib.suppress(OSError):
        self._channel.send(
          {'event': 'exited', 'task': task, 'exit_code': exit_code}
        )

  def _kill_descendants(self) -> None:
    deadline = time.monotonic() + _REAP_SECS
    myself = psutil.Process()
    # Again and again: killing a parent brings its children here.
    while children := myself.children(recursive=True):
      for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
          child.kill()
      self._reap()
      if time.monotonic() > deadline:
        raise TimeoutError(f'These processes do not die: {children}')
      time.sleep(0.01)


def _reason_not_to_fork() -> str | None:
  names = linux.thread_names()
  if len(names) > 1:
    return f'it has {len(names)} threads ({", ".join(names)})'
  bridge = sys.modules.get('jax._src.xla_bridge')
  if bridge is not None and bridge.backends_are_initialized():
    return 'a JAX backend is up'
  return None


def _load(modules: Sequence[str]) -> None:
  for name in ('backends.process.task_main', *modules):
    importlib.import_module(name)
  # What lives now lives as long as the process: out of the collector's reach,
  # its pages stay shared between the forks.
  gc.collect()
  gc.freeze()


def main() -> None:
  """Entry: `argv` holds the run's directory and the launcher's socket."""
  directory, channel = sys.argv[1], messages.Channel(int(sys.argv[2]))
  config, _ = channel.receive()
  if config is None:
    return
  # While this imports it cannot notice that the launcher is gone.
  linux.die_with_parent(config['launcher'])
  # They are for the launcher to handle, also when sent to a whole job.
  for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(signum, signal.SIG_IGN)
  linux.set_name('zygote')
  linux.adopt_orphans()
  reason = None
  if config['fork']:
    try:
      _load(config['preload'])
    except Exception:
      channel.send({'event': 'failed', 'error': traceback.format_exc()})
      return
    reason = _reason_not_to_fork()
  channel.send({'event': 'ready', 'reason_not_to_fork': reason})
  linux.outlive_parent()
  fork = config['fork'] and reason is None
  order = Zygote(channel, directory, fork).serve()
  if order is not None:
    # Loaded already if this process may fork, and of no use to it if not.
    worker = importlib.import_module('backends.process.task_main')
    worker.renew_randomness()
    worker.run(order)
