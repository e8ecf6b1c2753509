"""A run of `python launch.py` on a terminal prints its failure last."""

import re

from tests.view import terminals


def test_a_failure_is_printed_last_and_whole(tmp_path):
  exit_code, output = terminals.run(
    'launch.py',
    f'--run_dir={tmp_path / "run"}',
    '--num_actors=1',
    '--env=module:tests.e2e.faults.broken:make',
    columns=60,
  )
  assert exit_code == 1, output
  # The view was drawn until the tasks had ended.
  assert re.search(r'actor/0 .*backoff', output), output
  assert 'ended with exit code 1' in output
  # Lines that are wider than the terminal are not broken.
  summary, _, rest = output[_last_code(output) :].partition('Traceback (most')
  assert summary.startswith('wall time')
  _, *cause = rest.strip('\n').splitlines()
  assert cause[-2:] == [
    'OSError: the simulator has no licence',
    'The run failed: actor/0 exited with code 1.',
  ]
  assert all(line.startswith('  ') for line in cause[:-2])
  assert max(map(len, cause)) > 60
  # The output never hides or shows the cursor.
  assert '\033[?25' not in output


def _last_code(output):
  *_, last = terminals.CURSOR_CODE.finditer(output)
  return last.end()
