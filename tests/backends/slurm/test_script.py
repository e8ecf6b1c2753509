"""The script of a run's job, and the plan that its launcher reads."""

import pathlib
import re

import pytest

from backends import resources
from backends.slurm import allocation, script

_GROUPS = {'replay': 1, 'learner': 1, 'actor': 3, 'evaluator': 1}


def _components(asked='', options=''):
  return script.components(
    _GROUPS, resources.parse(asked), script.parse_options(options)
  )


def _parts(components, run_dir='/shared/run'):
  """Returns each component's directives in the script, and its commands."""
  run_dir = pathlib.Path(run_dir)
  text = script.render(
    'name',
    components,
    ['python', 'launch.py', '--config=a b'],
    run_dir / 'plan.json',
    run_dir / 'logs',
  )
  head, _, body = text.partition('\n\n')
  return [
    re.findall('#SBATCH --(.*)', part) for part in head.split('#SBATCH hetjob')
  ], body.splitlines()


def test_roles_with_equal_resources_are_one_plain_job():
  ((directives,), body) = _parts(_components())
  assert 'ntasks=6' in directives
  assert 'cpus-per-task=1' in directives
  assert 'requeue' in directives
  assert 'output=/shared/run/logs/slurm-%j.out' in directives
  assert not any('gpu' in each for each in directives)
  assert body == [
    'export LAUNCHPAD_SLURM_PLAN=/shared/run/plan.json',
    "exec python launch.py '--config=a b'",
  ]


def test_a_learner_on_a_gpu_comes_first_in_a_heterogeneous_job():
  components = _components(
    'learner:gpu=1,cpu=8', 'account=rl,time=1:00:00;learner:partition=gpu'
  )
  assert [part.tasks for part in components] == [
    ('learner/0',),
    ('replay/0', 'actor/0', 'actor/1', 'actor/2', 'evaluator/0'),
  ]
  (learner, others), _ = _parts(components)
  assert {'ntasks=1', 'cpus-per-task=8', 'gpus-per-task=1'} <= set(learner)
  assert {'partition=gpu', 'account=rl', 'time=1:00:00'} <= set(learner)
  assert {'ntasks=5', 'cpus-per-task=1', 'account=rl'} <= set(others)
  assert not {'partition=gpu', 'gpus-per-task=1'} & set(others)


def test_paths_with_spaces_are_quoted():
  ((directives,), body) = _parts(_components(), '/shared/my run')
  assert 'output="/shared/my run/logs/slurm-%j.out"' in directives
  assert body[0] == "export LAUNCHPAD_SLURM_PLAN='/shared/my run/plan.json'"


def test_text_that_sbatch_would_interpret_is_escaped():
  options = """comment=it"s \\ # $x,exclude=node[1-3];actor:comment=it's"""
  (others, actor), _ = _parts(_components('', options), '/shared/50%#1')
  assert r'comment="it\"s \\ # $x"' in others
  assert 'exclude=node[1-3]' in others
  assert '''comment="it's"''' in actor
  # A percent sign begins a pattern in the name of the output.
  assert 'output="/shared/50%%#1/logs/slurm-%j.out"' in others


@pytest.mark.parametrize(
  'run_dir, message',
  [
    ('/shared/a\n#SBATCH --partition=b', 'line break'),
    ('/shared/a\tb', 'a tab'),
    ('/shared/a\\b', 'has a backslash'),
  ],
)
def test_a_directory_that_slurm_would_misread_is_refused(run_dir, message):
  with pytest.raises(ValueError, match=message):
    _parts(_components(), run_dir)


@pytest.mark.parametrize(
  'text, message',
  [
    ('comment=a\n#SBATCH --exclusive', 'comment has a line break'),
    ('actor:comment=a\tb', 'comment has .* a tab'),
    ('actor:--foo=bar', "'--foo' is no name of an option.*without dashes"),
    ('learner partition=x=y', "'learner partition' is no name"),
    ('ntasks=3', 'ntasks cannot be set here'),
    ('ntask=3', 'ntask cannot be set here: the number of tasks follows'),
    ('learner:cpus-per-task=3', '--resources=ROLE:cpu=N'),
    ('time=1,time=2', 'time is there twice'),
    ('exclusive', "expected name=value, got 'exclusive'"),
  ],
)
def test_wrong_options_are_refused(text, message):
  with pytest.raises(ValueError, match=message):
    script.parse_options(text)


def test_options_of_an_unknown_role_are_refused():
  with pytest.raises(ValueError, match="no role 'actors'.*'actor'"):
    _components(options='actors:partition=cpu')


def test_the_launcher_reads_the_plan(tmp_path, monkeypatch):
  components = _components('learner:gpu=1', 'time=1')
  path = tmp_path / 'plan.json'
  script.save_plan(path, components)
  assert script.load_plan(path) == components
  monkeypatch.setenv(script.PLAN, str(path))
  assert script.planned_resources()['learner'] == resources.Resources(gpu=1)
  assert script.planned_resources()['actor'] == resources.Resources()


def test_slurms_lists_of_counts_are_read():
  assert allocation.repeated('4(x2),1') == [4, 4, 1]
  assert allocation.repeated('7') == [7]
