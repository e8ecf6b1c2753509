"""The process that all tasks of a run descend from.

It imports heavy modules once and forks the tasks, so that a task starts in a
fraction of a second. It also makes sure that nothing is left of a run: it
adopts orphans, and kills all its descendants when the launcher is gone.

It must stay clean enough to fork: one thread, no client, no server, no JAX
backend. If the modules that it was told to import start threads, it says so and
starts an interpreter for each task, as with `start='spawn'`.
"""

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from typing import NoReturn

import psutil

from backends.process import bootstrap, channels, env_vars, messages
from system import linux

# Seconds that killed processes may take to vanish.
_REAP_SECS = 5.0


class Zygote:
  """Starts, signals and reaps tasks as the launcher asks.

  `serve` returns twice, as fork does: in the zygote it returns None, at the
  end; in each forked task it returns the order of that task.
  """

  def __init__(self, channel: channels.Channel, directory: str, fork: bool):
    """Takes signals of ended children from now on.

    Args:
      channel: the connection with the launcher.
      directory: path of the run's private folder.
      fork: whether a fork becomes the task itself, instead of an interpreter
        that starts anew.
    """
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
    """Serves until the launcher is gone or closes the channel.

    Returns:
      None in the zygote; in a forked task, its order.
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
          message, descriptors = self._channel.receive()
          if message is None:
            self._kill_descendants()
            return None
          order = self._obey(message, descriptors)
          if order is not None:
            return order

  def _obey(
    self, message: messages.Message, descriptors: Sequence[int]
  ) -> messages.Order | None:
    match message:
      case messages.Order():
        return self._start(message, descriptors[0])
      case messages.Signal(name, signum):
        self._signal(name, signum)
        return None
    raise messages.MessageError(f'a launcher does not send {message}')

  def _signal(self, name: str, signum: int) -> None:
    for pid, task in self._tasks.items():
      if task == name:
        if signum == signal.SIGKILL:
          linux.kill_session(pid)
        os.kill(pid, signum)

  def _start(self, order: messages.Order, output: int) -> messages.Order | None:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
      os.close(output)
      self._tasks[pid] = order.task
      self._channel.send(messages.Started(order.task, pid))
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
      'backends.process.task_main',
      self._directory,
      messages.encode(order).decode(),
    )
    os.execve(command[0], command, env_vars.merged(order.env))

  def _reap(self) -> None:
    while True:
      # It stays unreaped until its session is dead, so that its pid, which
      # names the session, cannot be given to another process.
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
      # If the launcher is gone, the next receive shows it.
      with contextlib.suppress(OSError):
        self._channel.send(messages.Exited(task, exit_code))

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
  directory, channel = sys.argv[1], channels.Channel(int(sys.argv[2]))
  setup, _ = channel.receive()
  if setup is None:
    return
  # While this process imports, it cannot notice that the launcher is gone.
  linux.die_with_parent(setup.launcher)
  # The launcher handles them, also when they are sent to a whole job.
  for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(signum, signal.SIG_IGN)
  linux.set_name('zygote')
  linux.adopt_orphans()
  reason = None
  if setup.fork:
    try:
      _load(setup.preload)
    except Exception:
      channel.send(messages.Failed(traceback.format_exc()))
      return
    reason = _reason_not_to_fork()
  channel.send(messages.Ready(reason))
  linux.outlive_parent()
  fork = setup.fork and reason is None
  order = Zygote(channel, directory, fork).serve()
  if order is not None:
    # A process that may fork has it loaded already; another never runs it.
    task_main = importlib.import_module('backends.process.task_main')
    task_main.renew_randomness()
    task_main.run(order)
