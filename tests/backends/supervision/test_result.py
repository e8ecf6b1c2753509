"""The sentence that says why a run failed."""

import pytest

from backends.supervision import result


@pytest.mark.parametrize(
  'exit_code, how',
  [
    (3, 'exited with code 3.'),
    (-9, 'was ended by SIGKILL.'),
    (None, 'failed.'),
  ],
)
def test_a_cause_reads_as_a_sentence(exit_code, how):
  cause = result.Cause('actor/1', exit_code, ('ValueError: no',))
  assert str(cause) == f'ValueError: no\nThe run failed: actor/1 {how}'
