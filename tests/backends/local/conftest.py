"""What the tests of this folder share."""

import pytest

from tests import helpers


@pytest.fixture
def marker(tmp_path, monkeypatch):
  """Marks all processes that a test starts; the test fails if one is left."""
  monkeypatch.setenv(helpers.MARKER, str(tmp_path))
  yield str(tmp_path)
  helpers.assert_nothing_left(str(tmp_path))
