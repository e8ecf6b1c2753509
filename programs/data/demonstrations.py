"""Recorded transitions for agents to imitate, or to learn from offline."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import compat  # noqa: F401

import numpy as np
import reverb
import tree
from acme import specs, types

from programs.data import minari_datasets, recording

_MINARI = 'minari:'


@dataclasses.dataclass(frozen=True)
class Demonstrations:
  """Recorded episodes. An agent imitates the last ones.

  It does not choose the episodes with the highest returns, since these often
  began in the easiest states.

  Attributes:
    source: the directory of a run with `--record`, or `minari:` and the id of a
      Minari dataset.
    environment_spec: the spec of the environment that was recorded.
    seed: decides the order in which transitions are drawn.
  """

  source: str
  environment_spec: specs.EnvironmentSpec
  seed: int = 0

  def load(self, num_episodes: int | None = None) -> types.Transition:
    """Returns the transitions of the newest episodes.

    Args:
      num_episodes: number of episodes. If fewer were recorded, all of them are
        returned. None means all episodes.

    Returns:
      One `Transition` whose leaves are arrays of [n, ...] with the spec's
      dtypes, where n is the number of transitions of all these episodes. The
      discount is the environment's: 0 where an episode terminated, otherwise 1.

    Raises:
      ValueError: no episodes were recorded, or they come from another
        environment.
    """
    read, source = recording.read_episodes, self.source
    if source.startswith(_MINARI):
      read, source = minari_datasets.read_episodes, source[len(_MINARI) :]
    episodes = read(source, self.environment_spec, num_episodes)
    return tree.map_structure(lambda *leaves: np.concatenate(leaves), *episodes)

  def batches(
    self, batch_size: int, num_episodes: int | None = None
  ) -> Iterator[types.Transition]:
    """Yields batches for ever, drawn uniformly and with replacement.

    The episodes are read when the first batch is asked for.

    Args:
      batch_size: number of transitions in each batch, whose leaves are arrays
        of [batch_size, ...].
      num_episodes: number of newest episodes to draw from, or None for all.
    """
    random = np.random.default_rng(self.seed)
    transitions = self.load(num_episodes)
    count = len(transitions.reward)
    while True:
      rows = random.integers(count, size=batch_size)
      yield tree.map_structure(lambda x, rows=rows: x[rows], transitions)


def replay_samples(
  config: Any, demonstrations: Demonstrations
) -> Iterator[reverb.ReplaySample]:
  """Yields batches of transitions in replay's form, with equal priorities.

  Args:
    config: an agent's config, which has a `batch_size`. A batch has that many
      transitions for each gradient step that the learner takes at once.
    demonstrations: recorded episodes; batches are drawn from all of them.
  """
  size = config.batch_size * getattr(config, 'gradient_steps_at_once', 1)
  ones = np.ones(size)
  info = reverb.SampleInfo(**dict.fromkeys(reverb.SampleInfo._fields, ones))
  for transitions in demonstrations.batches(size):
    yield reverb.ReplaySample(info, transitions)
