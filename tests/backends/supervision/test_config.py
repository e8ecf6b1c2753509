"""Environment variables of each label, and settings that are refused."""

import pytest

from backends.supervision import config


def test_environment_variables_by_label():
  run_config = config.RunConfig(
    default_env={'A': '1', 'B': '1'}, env={'learner': {'B': '2'}}
  )
  assert run_config.task_env('learner') == {'A': '1', 'B': '2'}
  assert run_config.task_env('actor') == {'A': '1', 'B': '1'}


@pytest.mark.parametrize(
  'wrong, message',
  [
    ({'start': 'threads'}, "'fork' or 'spawn', got 'threads'"),
    ({'grace': -1.0}, 'grace'),
    ({'stop_order': ['actor', 'learner']}, 'sequence of sequences'),
  ],
)
def test_wrong_settings_are_named(wrong, message):
  with pytest.raises(ValueError, match=message):
    config.RunConfig(**wrong)
