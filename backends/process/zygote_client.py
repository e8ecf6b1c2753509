"""The launcher's side of the zygote."""

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from backends.process import bootstrap, env_vars, messages
from system import line_reader, linux, private_folder

_END_SECS = 10.0
_MARKER = 'LAUNCHPAD_LOCAL_RUN'
# gRPC would send what goes to this machine to a proxy as well.
_NO_PROXY = '127.0.0.1,localhost'


class ZygoteClient:
  """Starts a zygote, talks to it, and ends it with all its descendants."""

  # Of the imports.
  ready_secs = 300.0

  def __init__(
    self,
    directory: str,
    preload: Sequence[str],
    fork: bool,
    env: Mapping[str, str | None],
  ):
    """Starts the process; it says `ready` when it has imported.

    Args:
      directory: the run's private folder.
      preload: modules for it to import.
      fork: whether it forks the tasks off itself.
      env: environment variables that all tasks share; None unsets.
    """
    self._marker = f'{_MARKER}={directory}'
    self.channel, theirs = messages.pair()
    pipe, pipe_writer = os.pipe()
    bootstrap.save_paths(directory)
    self._process = subprocess.Popen(
      bootstrap.command('backends.process.zygote', directory, str(theirs)),
      env=_environment(directory, env),
      stdin=subprocess.DEVNULL,
      stdout=pipe_writer,
      stderr=pipe_writer,
      pass_fds=[theirs],
      start_new_session=True,
    )
    os.close(theirs)
    os.close(pipe_writer)
    self.reader = line_reader.LineReader(pipe)
    self.channel.send(
      {'launcher': os.getpid(), 'preload': list(preload), 'fork': fork}
    )

  @property
  def pid(self) -> int:
    return self._process.pid

  def receive(self) -> dict[str, Any] | None:
    """Returns what the zygote has to say; None if it is gone."""
    return self.channel.receive()[0]

  def start(self, order: messages.Order) -> line_reader.LineReader:
    """Asks for a process; returns its output."""
    reader, writer = os.pipe()
    self._send({'do': 'start', 'order': order}, [writer])
    os.close(writer)
    return line_reader.LineReader(reader)

  def signal(self, task: str, signum: int) -> None:
    """Sends a signal to a task if it runs; SIGKILL to all its session."""
    self._send({'do': 'signal', 'task': task, 'signal': signum})

  def finish(self, task: str) -> None:
    """Takes note that a task is over: it makes no difference here."""

  def release(self, task: str) -> None:
    """Forgets a task that has left the run: nothing is kept of it here."""

  def _send(
    self, message: dict[str, Any], descriptors: Sequence[int] = ()
  ) -> None:
    # If it is gone, the next `receive` says so.
    with contextlib.suppress(ConnectionError):
      self.channel.send(message, descriptors)

  def wait(self) -> int:
    """Waits for a zygote that is about to end; returns its exit code."""
    try:
      return self._process.wait(_END_SECS)
    except subprocess.TimeoutExpired:
      self._process.kill()
      return self._process.wait()

  def close(self, ready: bool, is_over: bool = True) -> None:
    """Ends the zygote and every process that descends from it.

    Args:
      ready: whether it listens yet.
      is_over: whether the run is; it makes no difference here.
    """
    del is_over
    self.channel.close()
    if not ready:
      self._process.kill()
    if self.wait() != 0:
      linux.kill_marked(self._marker)

  def discard(self) -> None:
    """Ends it however far it is; does nothing after `close`."""
    if self._process.returncode is None:
      self.close(ready=False)
      self.reader.close()


def _environment(
  directory: str, changes: Mapping[str, str | None]
) -> dict[str, str]:
  env = env_vars.merged(changes)
  env[_MARKER] = directory
  # What they leave there goes with the folder.
  env['TMPDIR'] = private_folder.temporary(directory)
  env['no_proxy'] = ','.join(filter(None, [env.get('no_proxy'), _NO_PROXY]))
  for name in env_vars.THREAD_COUNTS:
    env[name] = '1'
  env.setdefault('PYTHONUNBUFFERED', '1')
  return env


def task_environment(env: Mapping[str, str | None]) -> dict[str, str | None]:
  """Returns what a task must set on top of the zygote's environment."""
  counts = {n: os.environ.get(n, '1') for n in env_vars.THREAD_COUNTS}
  return {**counts, **env}
