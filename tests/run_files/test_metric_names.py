"""The names of metrics."""

import pytest

from run_files import metric_names


@pytest.mark.parametrize(
  'key, expected',
  [
    ('actor_steps', 'actor/steps'),
    ('learner_walltime', 'learner/walltime'),
    ('evaluator_episodes', 'evaluator/episodes'),
    ('actor_loss', 'learner/actor_loss'),
    ('steps', 'learner/steps'),
    ('weights/pushes', 'weights/pushes'),
  ],
)
def test_acmes_names_become_columns(key, expected):
  assert metric_names.qualify('learner', key) == expected


def test_every_name_in_the_code_is_in_the_table():
  names = {
    value
    for value in vars(metric_names).values()
    if isinstance(value, str) and value.count('/') == 1 and ' ' not in value
  }
  assert len(names) > 5
  for name in names:
    assert f'| {name} ' in metric_names.__doc__
