"""A signal ends a process that has nothing to stop in order yet."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

from system import stops, wakeups
from tests import helpers

_ROOT = pathlib.Path(__file__).parents[2]


def _python(code, **how):
  return subprocess.run(
    [sys.executable, '-c', textwrap.dedent(code)],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=60,
    **how,
  )


@pytest.mark.parametrize('signum', stops.SIGNALS)
def test_no_callback_swallows_a_signal(signum):
  done = _python(f"""
    import os, time
    from system import stops

    class Swallows:
      # What is raised here Python prints and forgets, as in a JAX callback.
      def __del__(self):
        os.kill(os.getpid(), {int(signum)})
        time.sleep(30)

    stops.begin()
    Swallows()
  """)
  assert (done.returncode, done.stderr) == (128 + signum, '')


def test_a_signal_undoes_what_was_begun(tmp_path):
  done = _python(f"""
    import os, signal
    from system import stops

    stops.begin()
    with stops.undoing(lambda: os.rmdir({str(tmp_path / 'outer')!r})):
      os.mkdir({str(tmp_path / 'outer')!r})
      with stops.undoing(lambda: os.rmdir({str(tmp_path / 'never_made')!r})):
        os.kill(os.getpid(), signal.SIGTERM)
  """)
  assert (done.returncode, done.stderr) == (143, '')
  assert not list(tmp_path.iterdir())


def test_an_ignored_signal_stays_ignored():
  done = _python(
    """
    import os, signal
    from system import stops

    stops.begin()
    os.kill(os.getpid(), signal.SIGHUP)
    print('goes on')
    """,
    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
  )
  assert (done.returncode, done.stdout) == (0, 'goes on\n')


@pytest.mark.parametrize('signum', stops.SIGNALS)
@pytest.mark.parametrize('word', ['--num_actors=1', 'status', '--seeds=1,2'])
def test_a_signal_ends_launch_py_while_it_imports(tmp_path, signum, word):
  began = tmp_path / 'began'
  (tmp_path / 'absl.py').write_text(
    f'import time\nopen({str(began)!r}, "w").close()\ntime.sleep(60)\n'
  )
  process = subprocess.Popen(
    [sys.executable, 'launch.py', word],
    cwd=_ROOT,
    env={**os.environ, 'PYTHONPATH': str(tmp_path)},
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
  )
  try:
    helpers.wait_until(began.exists, 'the import')
    process.send_signal(signum)
    output, _ = process.communicate(timeout=20)
  finally:
    process.kill()
    process.wait()
  assert (process.returncode, output) == (128 + signum, b'')


def test_a_signal_that_comes_too_late_for_the_loop_is_not_lost():
  woken = wakeups.Wakeups()
  came = []
  before = signal.signal(signal.SIGTERM, lambda signum, _: came.append(signum))
  try:
    with woken.handling([signal.SIGTERM]):
      signal.raise_signal(signal.SIGTERM)
      assert not came
    assert came == [signal.SIGTERM]
  finally:
    signal.signal(signal.SIGTERM, before)
    woken.close()
