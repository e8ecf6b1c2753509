"""Child processes of this process."""

import subprocess


def wait_or_kill(process: subprocess.Popen, timeout: float) -> int:
  """Waits for the end of a child, and kills it after `timeout` seconds.

  Returns:
    The child's exit code. If a signal ended it, minus the signal's number.
  """
  try:
    return process.wait(timeout)
  except subprocess.TimeoutExpired:
    process.kill()
    return process.wait()
