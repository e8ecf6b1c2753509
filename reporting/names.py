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
| actor/steps_per_second       | steps/s   | in this actor's last episode      |
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
| weights/pulls                | pulls     | made by this process              |
| weights/<name>_seconds       | s         | spent on it, summed               |
| weights/<name>_bytes         | bytes     | moved by it, summed               |
| replay/sample_wait_seconds   | s         | waited for samples, summed        |

A process sees the counts of the others a moment late, as the counter last told.
"""

import re

ACTOR_STEPS = 'actor/steps'
ACTOR_STEPS_PER_SECOND = 'actor/steps_per_second'
EVALUATION_RETURN = 'evaluator/episode_return'
LEARNER_STEPS = 'learner/steps'
LEARNER_STEPS_PER_SECOND = 'learner/steps_per_second'
TIME = 'time'
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
