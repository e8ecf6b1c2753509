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
  """What an agent imitates: the last episodes that somebody has recorded.

  Not the best, which would be those that began best.

  Attributes:
    source: the directory of a run with `--record`, or `minari:` and the id of a
      dataset.
    environment_spec: of the environment that was recorded.
    seed: of the order in which transitions are drawn.
  """

  source: str
  environment_spec: specs.EnvironmentSpec
  seed: int = 0

  def load(self, num_episodes: int | None = None) -> types.Transition:
    """Returns the transitions of the newest episodes.

    Args:
      num_episodes: how many, or fewer if fewer were recorded; None is all.

    Returns:
      Nests of [n, ...] of the spec's dtypes; the discount is the environment's.

    Raises:
      ValueError: there are no episodes, or they are of another environment.
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

    Args:
      batch_size: of each nest of [batch_size, ...].
      num_episodes: as in `load`, which is called at the first batch.
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
  """Yields recorded transitions as replay would, with equal priorities.

  Args:
    config: of an agent; tells `batch_size`.
    demonstrations: of which all episodes are drawn from.
  """
  ones = np.ones(config.batch_size)
  info = reverb.SampleInfo(**dict.fromkeys(reverb.SampleInfo._fields, ones))
  for transitions in demonstrations.batches(config.batch_size):
    yield reverb.ReplaySample(info, transitions)
