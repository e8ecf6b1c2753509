"""The command line's schedules of evaluators are parsed."""

import pytest

from nodes import schedule


@pytest.mark.parametrize(
  'text, expected',
  [
    ('', ()),
    ('3s', (schedule.Schedule(every_seconds=3.0),)),
    ('0.5s*2', (schedule.Schedule(every_seconds=0.5, episodes=2),)),
    (
      '1000steps*5, 30s',
      (
        schedule.Schedule(every_learner_steps=1000, episodes=5),
        schedule.Schedule(every_seconds=30.0),
      ),
    ),
  ],
)
def test_schedules_are_read(text, expected):
  assert schedule.parse(text) == expected


@pytest.mark.parametrize(
  'text', ['5', '0s', '1000steps*0', '-3s', '10 s', '3s*', '1.5steps', 'steps']
)
def test_other_texts_are_refused(text):
  with pytest.raises(ValueError, match='schedule|whole number'):
    schedule.parse(text)
