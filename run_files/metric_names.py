"""The names of metrics, which are the columns of a run's CSV files.

| name                       | unit      | meaning                            |
|----------------------------|-----------|------------------------------------|
| time                       | s         | Unix time at which the row was     |
|                            |           | written                            |
| actor/steps                | steps     | environment steps of all actors    |
|                            |           | together                           |
| actor/episodes             | episodes  | episodes of all actors together    |
| actor/episode_return       | reward    | return of this actor's last        |
|                            |           | episode                            |
| actor/episode_length       | steps     | length of this actor's last        |
|                            |           | episode                            |
| actor/steps_per_second     | steps/s   | this actor's rate over its last    |
|                            |           | episode, or over the last second   |
|                            |           | while an episode goes on           |
| learner/steps              | steps     | steps of the learner               |
| learner/walltime           | s         | time between the learner's steps,  |
|                            |           | summed                             |
| learner/steps_per_second   | steps/s   | the learner's rate since its last  |
|                            |           | row                                |
| learner/<name>             |           | what the agent reports, such as    |
|                            |           | `learner/critic_loss`              |
| evaluator/steps            | steps     | environment steps of all           |
|                            |           | evaluators together                |
| evaluator/episodes         | episodes  | episodes of all evaluators         |
|                            |           | together                           |
| evaluator/episode_return   | reward    | return of this evaluator's last    |
|                            |           | episode                            |
| evaluator/episode_length   | steps     | length of this evaluator's last    |
|                            |           | episode                            |
| evaluator/steps_per_second | steps/s   | this evaluator's rate over its     |
|                            |           | last episode                       |
| weights/version            | versions  | version of the weights that this   |
|                            |           | process uses                       |
| weights/lag_versions       | versions  | how many newer versions exist      |
| weights/lag_seconds        | s         | time since the weights in use were |
|                            |           | pushed                             |
| weights/pushes             | pushes    | pushes that the learner has made   |
| weights/published          | versions  | versions that publish() has        |
|                            |           | accepted because they were due     |
| weights/replaced           | versions  | how many of these were never       |
|                            |           | pushed, because a newer one came   |
|                            |           | first                              |
| weights/refills            | pushes    | repeated pushes, to a server that  |
|                            |           | has restarted                      |
| weights/blocked_seconds    | s         | time that the learner has waited   |
|                            |           | in publish(), summed               |
| weights/push_seconds       | s         | time that pushes have taken,       |
|                            |           | summed                             |
| weights/push_bytes         | bytes     | size of the values pushed, summed  |
| weights/pulls              | pulls     | pulls that this process has made   |
| weights/pull_seconds       | s         | time that pulls have taken, summed |
| weights/pull_bytes         | bytes     | size of the values pulled, summed  |
| weights/wire_bytes_sent    | bytes     | bytes of values sent to the        |
|                            |           | server, summed                     |
| weights/wire_bytes_received | bytes     | bytes of values received from the |
|                            |           | server, summed                     |
| weights/checks             | calls     | calls that ask the server for a    |
|                            |           | newer version                      |
| weights/cache_hits         | versions  | versions taken from this host's    |
|                            |           | shared copy                        |
| weights/cache_fallbacks    | versions  | versions for which this host's     |
|                            |           | shared copy had no room            |
| weights/versions_skipped   | versions  | versions that this reader has      |
|                            |           | never read                         |
| replay/sample_wait_seconds | s         | time that the learner has waited   |
|                            |           | for samples, summed                |
| non_finite/left_out        | finds     | episodes of this actor or          |
|                            |           | evaluator, or values of the        |
|                            |           | learner, that were left out for    |
|                            |           | NaN or infinity; absent if none    |
|                            |           | was                                |

An actor writes a row for each episode. In an episode that takes longer than a
second it also writes one every second, without return and length.

A process gets the counts of other processes from the counter, now and then. So
these counts are a moment late.
"""

import re

TIME = 'time'
ACTOR_STEPS = 'actor/steps'
LEARNER_STEPS = 'learner/steps'
EVALUATION_RETURN = 'evaluator/episode_return'
SAMPLE_WAIT = 'replay/sample_wait_seconds'
WEIGHTS_BLOCKED = 'weights/blocked_seconds'
WEIGHTS_LAG = 'weights/lag_versions'
WEIGHTS_PUSHES = 'weights/pushes'
WEIGHTS_VERSION = 'weights/version'
LEFT_OUT = 'non_finite/left_out'

# Each role that acts or learns reports these. `qualify` makes columns of them.
EPISODE_RETURN = 'episode_return'
EPISODE_LENGTH = 'episode_length'
STEPS_PER_SECOND = 'steps_per_second'

# Only counts match: `actor_loss` is a loss of the learner, not of an actor.
_COUNT = re.compile(
  r'(actor|learner|evaluator|replay|weights)_(steps|episodes|walltime)'
)


def qualify(label: str, key: str) -> str:
  """Returns the column for a key that a process reports.

  Args:
    label: the process's role, such as `actor`.
    key: a name as Acme and agents report it. If it has a slash it stays as it
      is. One of Acme's counts (`learner_steps`) gets the namespace of the role
      that is counted, and any other name the namespace `label`.
  """
  if '/' in key:
    return key
  if count := _COUNT.fullmatch(key):
    return '/'.join(count.groups())
  return f'{label}/{key}'


def row_prefix(label: str, index: int) -> str:
  """Returns the beginning of a row of metrics on the terminal."""
  return f'[{label}/{index}]'


def steps_axis(process: str, program: str) -> str:
  """Returns the column with the steps against which a process's rows are drawn.

  Args:
    process: label and index of the process, such as `actor_0`.
    program: the kind of program that runs; an `offline` one has no actors.
  """
  is_learners = process.startswith('learner_') or program == 'offline'
  return LEARNER_STEPS if is_learners else ACTOR_STEPS
