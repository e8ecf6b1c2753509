"""Has an agent of Acme's keep its transitions in replay as rows.

Acme's own adders and datasets move each array of a transition by itself. What
the agent learns from is the same; `replay.rows` says why this way is cheaper.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import compat  # noqa: F401

import reverb
from acme import adders, specs
from acme.adders import reverb as adders_reverb

from programs import builders
from programs.agents.shared import description
from replay import batches, transition_adder, transition_layout


class PackedTransitions(builders.ReleasedFormBuilder):
  """Wraps a builder whose one table holds n-step transitions."""

  def __init__(
    self,
    builder: Any,
    environment_spec: description.EnvironmentSpec,
    acme_config: Any,
    make_sampler: Callable[[], Any] = reverb.selectors.Uniform,
  ):
    """Wraps a builder.

    Args:
      builder: a builder of dm-acme's released form.
      environment_spec: the spec of all actors' environments.
      acme_config: the builder's configuration, which has `n_step`, `discount`,
        `batch_size` and the settings of the table.
      make_sampler: returns what chooses the table's samples.
    """
    super().__init__(builder)
    self._config = acme_config
    self._make_sampler = make_sampler
    signature = adders_reverb.NStepTransitionAdder.signature(environment_spec)
    self._layout = transition_layout.TransitionLayout(signature)

  def make_replay_tables(
    self, environment_spec: specs.EnvironmentSpec, policy: Any
  ) -> Sequence[reverb.Table]:
    config = self._config
    tolerance = (
      config.samples_per_insert_tolerance_rate * config.samples_per_insert
    )
    return [
      reverb.Table(
        name=config.replay_table_name,
        sampler=self._make_sampler(),
        remover=reverb.selectors.Fifo(),
        max_size=config.max_replay_size,
        rate_limiter=reverb.rate_limiters.SampleToInsertRatio(
          config.samples_per_insert,
          config.min_replay_size,
          config.min_replay_size * tolerance,
        ),
        signature=self._layout.signature,
      )
    ]

  def make_dataset_iterator(
    self, replay_client: reverb.Client
  ) -> Iterator[reverb.ReplaySample]:
    return batches.batches(
      replay_client.server_address,
      self._config.replay_table_name,
      self._layout.unpack,
      self._config.batch_size * self._config.num_sgd_steps_per_step,
    )

  def make_adder(
    self,
    replay_client: reverb.Client,
    environment_spec: specs.EnvironmentSpec | None,
    policy: Any,
  ) -> adders.Adder:
    return transition_adder.TransitionAdder(
      replay_client,
      self._config.replay_table_name,
      self._layout,
      self._config.n_step,
      self._config.discount,
    )
