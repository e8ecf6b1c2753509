"""Has an agent of Acme's keep its transitions in replay as rows."""

from collections.abc import Callable
from typing import Any

import compat  # noqa: F401

import reverb
from acme.adders import reverb as adders_reverb

from programs.agents.shared import description, packed_builder
from replay import transition_adder, transition_layout


class PackedTransitions(packed_builder.PackedBuilder):
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
    signature = adders_reverb.NStepTransitionAdder.signature(environment_spec)
    super().__init__(
      builder,
      acme_config.replay_table_name,
      transition_layout.TransitionLayout(signature),
      acme_config.batch_size * acme_config.num_sgd_steps_per_step,
    )
    self._config = acme_config
    self._make_sampler = make_sampler

  def make_replay_tables(self, environment_spec, policy):
    config = self._config
    tolerance = (
      config.samples_per_insert_tolerance_rate * config.samples_per_insert
    )
    return [
      reverb.Table(
        name=self._table_name,
        sampler=self._make_sampler(),
        remover=reverb.selectors.Fifo(),
        max_size=config.max_replay_size,
        rate_limiter=reverb.rate_limiters.SampleToInsertRatio(
          config.samples_per_insert,
          config.min_replay_size,
          config.min_replay_size * tolerance,
        ),
        signature=self.layout.signature,
      )
    ]

  def make_adder(self, replay_client, environment_spec, policy):
    return transition_adder.TransitionAdder(
      replay_client,
      self._table_name,
      self.layout,
      self._config.n_step,
      self._config.discount,
    )
