"""A run records its episodes, and another run learns from them offline."""

from tests.e2e import runs


def test_recorded_episodes_are_imitated(tmp_path):
  teacher = runs.Run(tmp_path / 'teacher')
  with teacher.launch('--num_actors=1', '--num_steps=400', '--record'):
    assert teacher.end() == 0, teacher.output
  episodes = list((teacher.run_dir / 'episodes').iterdir())
  # Two episodes are the actor's; the others are the evaluator's.
  assert len(episodes) >= 3

  pupil = runs.Run(tmp_path / 'pupil')
  with pupil.launch(
    '--program=offline',
    '--agent=bc',
    f'--demonstrations={teacher.run_dir}',
    '--num_steps=3000',
  ):
    assert pupil.end() == 0, pupil.output
  assert pupil.left_over() == []
  # The first leaf of this learner's state is a Python number.
  assert (pupil.run_dir / 'policy' / 'policy.json').exists(), pupil.output
  assert {name.partition('/')[0] for name in pupil.tasks()} == {
    'variable_server',
    'counter',
    'learner',
    'evaluator',
  }
  assert pupil.count('learner_steps') >= 3000
  losses = pupil.column('learner_0', 'learner/loss')
  assert losses[-1] < losses[0]
  versions = pupil.column('evaluator_0', 'weights/version')
  assert versions == sorted(versions)
