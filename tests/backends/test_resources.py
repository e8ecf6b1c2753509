"""How the text of `--resources` is read."""

import pytest

from backends import resources


def test_roles_have_their_resources_and_the_least_of_the_others():
  by_role = resources.parse('learner:gpu=1,cpu=8; actor:cpu=2')
  assert by_role == {
    'learner': resources.Resources(cpu=8, gpu=1),
    'actor': resources.Resources(cpu=2, gpu=0),
  }
  assert resources.parse('') == {}


@pytest.mark.parametrize(
  'text, message',
  [
    ('cpu=8', 'names no role'),
    ('learner:cores=8', "learner: there is no 'cores'; the nearest is 'cpu'"),
    ('learner:gpu=one', "learner: gpu must be .* got 'one'"),
    ('actor:cpu=0', 'actor: cpu must be a whole number from 1 to'),
    ('actor:cpu=10001', 'actor: cpu must be .* from 1 to 10,000, got '),
    ('actor:gpu=1001', 'actor: gpu must be .* from 0 to 1,000, got '),
    ('learner:cpu=1,cpu=2', 'learner: cpu is there twice'),
    ('actor:cpu', "actor: expected name=value, got 'cpu'"),
    ('actor:', "actor: expected name=value, got ''"),
    ('actor:cpu=1;actor:cpu=2', 'actor is there twice'),
  ],
)
def test_an_error_names_what_is_malformed(text, message):
  with pytest.raises(ValueError, match=message):
    resources.parse(text)


def test_an_error_about_an_unknown_role_names_the_nearest():
  resources.check_roles(['learner', None], ['learner', 'actor'])
  with pytest.raises(ValueError, match="no role 'lerner'.*'learner'"):
    resources.check_roles(['lerner'], ['actor', 'learner'])


def test_a_value_may_have_commas_and_colons():
  items = resources.split('nodelist=a,b,time=1:00:00;learner:gres=gpu:2')
  assert items == {
    None: {'nodelist': 'a,b', 'time': '1:00:00'},
    'learner': {'gres': 'gpu:2'},
  }
