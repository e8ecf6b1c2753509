"""The names of metrics, which are the columns of a run's CSV files.

| name                         | unit      | meaning                           |
|------------------------------|-----------|-----------------------------------|
| time                         | s         | Unix time at which the row was    |
|                              |           | written                           |
| actor/steps                  | steps     | environment steps of all actors   |
|                              |           | together                          |
| actor/episodes               | episodes  | of all actors together            |
| actor/episode_return         | reward    | of this actor's last episode      |
| actor/episode_length         | steps     | of this actor's last episode      |
| actor/steps_per_second       | steps/s   | in this actor's last episode, or  |
|                              |           | in the last second of this one    |
| learner/steps                | steps     | of the learner                    |
| learner/walltime             | s         | between learner steps, summed     |
| learner/steps_per_second     | steps/s   | since the row before              |
| learner/<name>               |           | whatever the agent reports, such  |
|                              |           | as critic_loss                    |
| evaluator/steps              | steps     | environment steps of all          |
|                              |           | evaluators together               |
| evaluator/episodes           | episodes  | of all evaluators together        |
| evaluator/episode_return     | reward    | of this evaluator's last episode  |
| evaluator/episode_length     | steps     | of this evaluator's last episode  |
| evaluator/steps_per_second   | steps/s   | in this evaluator's last episode  |
| weights/version              | versions  | which weights are in use          |
| weights/lag_versions         | versions  | how many newer ones exist         |
| weights/pushes               | pushes    | made by the learner               |
| weights/lag_seconds          | s         | since the weights in use were     |
|                              |           | pushed                            |
| weights/blocked_seconds      | s         | the learner waited to publish,    |
|                              |           | summed                            |
| weights/published            | versions  | taken by publish() as due         |
| weights/replaced             | versions  | of these, never pushed, as a      |
|                              |           | newer one came first              |
| weights/refills              | pushes    | again, to a server that restarted |
| weights/push_seconds         | s         | spent on pushes, summed           |
| weights/push_bytes           | bytes     | of values pushed, summed          |
| weights/pulls                | pulls     | made by this process              |
| weights/pull_seconds         | s         | spent on pulls, summed            |
| weights/pull_bytes           | bytes     | of values pulled, summed          |
| weights/wire_bytes_sent      | bytes     | of values sent to the server      |
| weights/wire_bytes_received  | bytes     | of values received from it        |
| weights/checks               | calls     | to the server, asking for news    |
| weights/cache_hits           | versions  | taken from this host's copy       |
| weights/cache_fallbacks      | versions  | for which this host had no room   |
| weights/versions_skipped     | versions  | which a reader never read         |
| replay/sample_wait_seconds   | s         | waited for samples, summed        |
| non_finite/left_out          | finds     | of NaN or infinity: episodes of   |
|                              |           | this actor or evaluator, values   |
|                              |           | of the learner; absent if none    |

An actor writes a row an episode, and one a second of an episode that lasts
longer, without that episode's return and length.

A process sees the counts of the others a moment late, as the counter last told.
"""

import re

ACTOR_STEPS = 'actor/steps'
ACTOR_STEPS_PER_SECOND = 'actor/steps_per_second'
EVALUATION_RETURN = 'evaluator/episode_return'
LEARNER_STEPS = 'learner/steps'
LEFT_OUT = 'non_finite/left_out'
LEARNER_STEPS_PER_SECOND = 'learner/steps_per_second'
SAMPLE_WAIT = 'replay/sample_wait_seconds'
TIME = 'time'
WEIGHTS_BLOCKED = 'weights/blocked_seconds'
WEIGHTS_LAG = 'weights/lag_versions'
WEIGHTS_PUSHES = 'weights/pushes'
WEIGHTS_VERSION = 'weights/version'

# Only counts: an agent's `actor_loss` is the learner's, not an actor's.
_COUNT = re.compile(
  r'(actor|learner|evaluator|replay|weights)_(steps|episodes|walltime)'
)


def qualify(label: str, key: str) -> str:
  """Returns the column for what a process calls `key`.

  Args:
    label: the process's role, such as `actor`.
    key: as Acme and agents report it. A count of Acme's (`learner_steps`) takes
      the namespace of whoever is counted, a key with a slash stays as it is,
      and everything else is put in the namespace `label`.
  """
  if '/' in key:
    return key
  if count := _COUNT.fullmatch(key):
    return '/'.join(count.groups())
  return f'{label}/{key}'


def row_prefix(label: str, index: int) -> str:
  """Returns what a row of metrics begins with on the terminal."""
  return f'[{label}/{index}]'


def steps_axis(process: str, program: str) -> str:
  """Returns the column that counts the steps at which a row was written.

  Args:
    process: label and index of who wrote it, such as `actor_0`.
    program: what runs; an `offline` one has no actors.
  """
  is_learners = process.startswith('learner_') or program == 'offline'
  return LEARNER_STEPS if is_learners else ACTOR_STEPS
