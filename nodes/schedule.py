"""When an evaluator evaluates."""

import dataclasses
import re

_FORM = re.compile(r'(\d+(?:\.\d+)?)(s|steps)(?:\*(\d+))?')


@dataclasses.dataclass(frozen=True)
class Schedule:
  """When to evaluate, and for how many episodes.

  Attributes:
    every_seconds: seconds from the beginning of one evaluation to the beginning
      of the next, or None.
    every_learner_steps: an evaluation is due whenever the learner has made
      another multiple of this number of steps; or None.
    episodes: the number of episodes of one evaluation.
  """

  every_seconds: float | None = None
  every_learner_steps: int | None = None
  episodes: int = 1


def parse(text: str) -> tuple[Schedule, ...]:
  """Returns the schedules that a text such as `1000steps*5,30s` describes.

  Args:
    text: one schedule for each evaluator, with commas in between. A schedule is
      a number of seconds or of learner steps, and then `*` and the number of
      episodes if it is not one.

  Raises:
    ValueError: the text is not of that form.
  """
  return tuple(_parse(part.strip()) for part in text.split(',') if part.strip())


def _parse(text: str) -> Schedule:
  match = _FORM.fullmatch(text)
  if match is None or float(match[1]) == 0 or match[3] == '0':
    raise ValueError(
      f'{text!r} is not a schedule; write 30s, 1000steps, or 1000steps*5 for '
      'five episodes each time'
    )
  every, unit, episodes = match.groups(default='1')
  if unit == 's':
    return Schedule(every_seconds=float(every), episodes=int(episodes))
  if not every.isdigit():
    raise ValueError(f'{text!r}: the learner steps must be a whole number')
  return Schedule(every_learner_steps=int(every), episodes=int(episodes))
