"""Loggers that wrap another logger pass on every row."""

import compat  # noqa: F401

import jax.numpy as jnp
import numpy as np
from acme.utils import loggers

from nodes import row_loggers


def test_a_loss_that_is_not_finite_is_logged_once(caplog):
  rows = []

  class Rows(loggers.Logger):
    def write(self, data):
      rows.append(data)

    def close(self):
      pass

  logger = row_loggers.WithLossesWatched(
    Rows(), lambda: 'learner/0, after step 7', every_seconds=0.0
  )
  for loss in (1.0, np.nan, np.nan):
    logger.write({'critic_loss': jnp.float32(loss), 'note': 'nan'})
  (said,) = caplog.messages
  assert "learner/0, after step 7: the loss ['critic_loss'] is nan" in said
  assert len(rows) == 3
