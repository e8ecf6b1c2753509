"""The launcher's side of the zygote: starts, commands and ends it."""

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence

from backends.process import bootstrap, channels, env_vars, messages
from system import children, line_reader, linux, private_folder

_END_SECS = 10.0
_MARKER = 'LAUNCHPAD_LOCAL_RUN'
# Without this, gRPC would use a proxy for connections within this machine too.
_NO_PROXY = '127.0.0.1,localhost'


class ZygoteClient:
  """Starts a zygote, sends it orders, and ends it with all its descendants.

  It is a `supervision.machines.Zygote`, which describes the methods.
  """

  # Seconds from the start in which the zygote must have imported its modules.
  ready_secs = 300.0

  def __init__(
    self,
    directory: str,
    preload: Sequence[str],
    fork: bool,
    env: Mapping[str, str | None],
  ):
    """Starts the zygote. It sends `Ready` when it has imported its modules.

    Args:
      directory: path of the run's private folder.
      preload: names of the modules that the zygote imports.
      fork: whether the zygote forks the tasks off itself.
      env: environment variables that all tasks share; None unsets a variable.
    """
    self._marker = f'{_MARKER}={directory}'
    self.channel, theirs = channels.pair()
    pipe, pipe_writer = os.pipe()
    bootstrap.save_paths(directory)
    self._process = subprocess.Popen(
      bootstrap.command('backends.process.zygote', directory, str(theirs)),
      env=_zygote_env(directory, env),
      stdin=subprocess.DEVNULL,
      stdout=pipe_writer,
      stderr=pipe_writer,
      pass_fds=[theirs],
      start_new_session=True,
    )
    os.close(theirs)
    os.close(pipe_writer)
    self.reader = line_reader.LineReader(pipe)
    self.channel.send(messages.Setup(os.getpid(), list(preload), fork))

  @property
  def pid(self) -> int:
    return self._process.pid

  def receive(self) -> messages.Message | None:
    return self.channel.receive()[0]

  def start(self, order: messages.Order) -> line_reader.LineReader:
    reader, writer = os.pipe()
    self._send(order, [writer])
    os.close(writer)
    return line_reader.LineReader(reader)

  def signal(self, task: str, signum: int) -> None:
    self._send(messages.Signal(task, signum))

  def finish(self, task: str) -> None:
    """Does nothing: the zygote serves all tasks until the run's end."""

  def release(self, task: str) -> None:
    """Does nothing: this class stores nothing about a task."""

  def _send(
    self, message: messages.Message, descriptors: Sequence[int] = ()
  ) -> None:
    # If the zygote is gone, the next `receive` reports it.
    with contextlib.suppress(ConnectionError):
      self.channel.send(message, descriptors)

  def wait(self) -> int:
    return children.wait_or_kill(self._process, _END_SECS)

  def close(self, ready: bool, is_over: bool = True) -> None:
    del is_over
    self.channel.close()
    if not ready:
      self._process.kill()
    if self.wait() != 0:
      linux.kill_marked(self._marker)

  def discard(self) -> None:
    """Ends the zygote, even if it is not ready. Does nothing after `close`."""
    if self._process.returncode is None:
      self.close(ready=False)
      self.reader.close()


def _zygote_env(
  directory: str, changes: Mapping[str, str | None]
) -> dict[str, str]:
  env = env_vars.merged(changes)
  env[_MARKER] = directory
  # Temporary files that tasks leave are removed with the run's folder.
  env['TMPDIR'] = private_folder.temporary(directory)
  env['no_proxy'] = ','.join(filter(None, [env.get('no_proxy'), _NO_PROXY]))
  for name in env_vars.THREAD_COUNTS:
    env[name] = '1'
  env.setdefault('PYTHONUNBUFFERED', '1')
  return env


def task_env(env: Mapping[str, str | None]) -> dict[str, str | None]:
  """Returns the environment variables that a task sets on top of the zygote's.

  Args:
    env: the task's own variables; None unsets a variable.
  """
  counts = {n: os.environ.get(n, '1') for n in env_vars.THREAD_COUNTS}
  return {**counts, **env}
