"""The zygote: the parent process of all tasks of a run on one machine.

It imports large modules once and then forks the tasks, so that a task starts in
a fraction of a second. It also makes sure that no process of a run is left: it
adopts orphaned processes, and kills all its descendants when the launcher is
gone.

A fork is safe only if the zygote has one thread, and no client, server or JAX
backend. If the modules that it imports start threads, it reports this and
starts a new interpreter for each task, as with `start='spawn'`.
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

# Killed processes must have ended within these seconds.
_REAP_SECS = 5.0


class Zygote:
  """Starts, signals and reaps the processes of tasks for the launcher.

  `serve` returns in several processes, as `os.fork` does. In the zygote it
  returns None at the end. In each forked task it returns the task's order.
  """

  def __init__(self, channel: channels.Channel, directory: str, fork: bool):
    """Handles the signals of ended child processes from now on.

    Args:
      channel: the connection with the launcher.
      directory: path of the run's private folder.
      fork: whether the forked process itself runs the task; if not, it becomes
        a new interpreter, which runs the task.
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
    # A forked task keeps SIGTERM blocked until it can handle a request to stop.
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
    # SIGTERM may end an interpreter that still imports: it has nothing to save.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    command = bootstrap.command(
      'backends.process.task_main',
      self._directory,
      messages.encode(order).decode(),
    )
    os.execve(command[0], command, env_vars.merged(order.env))

  def _reap(self) -> None:
    while True:
      # The process is reaped only after its session is killed. Until then, no
      # other process can get its pid, which is also the session's id.
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
      # If the launcher is gone, the next `receive` reports it.
      with contextlib.suppress(OSError):
        self._channel.send(messages.Exited(task, exit_code))

  def _kill_descendants(self) -> None:
    deadline = time.monotonic() + _REAP_SECS
    myself = psutil.Process()
    # Repeated, because the children of a killed process become this one's.
    while children := myself.children(recursive=True):
      for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
          child.kill()
      self._reap()
      if time.monotonic() > deadline:
        raise TimeoutError(f'These processes do not end: {children}')
      time.sleep(0.01)


def _reason_not_to_fork() -> str | None:
  names = linux.thread_names()
  if len(names) > 1:
    return f'it has {len(names)} threads ({", ".join(names)})'
  bridge = sys.modules.get('jax._src.xla_bridge')
  if bridge is not None and bridge.backends_are_initialized():
    return 'it has started a JAX backend'
  return None


def _load(modules: Sequence[str]) -> None:
  for name in ('backends.process.task_main', *modules):
    importlib.import_module(name)
  # The objects that exist now live as long as the process. The garbage
  # collector ignores them from now on, so that the forks share their memory.
  gc.collect()
  gc.freeze()


def main() -> None:
  """Runs the zygote.

  `argv[1]` is the path of the run's private folder, and `argv[2]` is the file
  descriptor of the channel to the launcher.
  """
  directory, channel = sys.argv[1], channels.Channel(int(sys.argv[2]))
  setup, _ = channel.receive()
  if setup is None:
    return
  # While this process imports, it cannot notice that the launcher is gone.
  linux.die_with_parent(setup.launcher)
  # Only the launcher handles these signals, even if all processes get them.
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
    # Only a forked task gets here, so `_load` has imported this module already.
    task_main = importlib.import_module('backends.process.task_main')
    task_main.renew_randomness()
    task_main.run(order)
