"""Which settings no agent can have, told before anything is imported.

`overrides` sees to a setting's type; here are their ranges, and which do not go
together. What Reverb refuses beyond that, `programs.replay_tables` finds.
"""

import dataclasses
import math
from typing import Any

_SHARES = ('alpha', 'discount', 'epsilon', 'gae_lambda', 'tau')
_ABOVE_0 = ('gradient_steps_per_step', 'max_abs_reward', 'max_gradient_norm')
_MAY_BE_NEGATIVE = ('vmin', 'vmax')
# What Reverb and JAX compute with: int32 and float32.
_GREATEST = {int: 2**31 - 1, float: 3.4e38}
# Of the samples that are due, by how much Acme's agents let them be off.
_TOLERANCE = 0.1


def check(config: Any) -> None:
  """Raises `ValueError`, which names the settings, for a config of ours.

  Args:
    config: of `configs`.
  """
  values = {
    field.name: getattr(config, field.name)
    for field in dataclasses.fields(config)
  }
  for name, value in values.items():
    _check_range(name, value)
  if 'max_replay_size' in values:
    _check_replay(values)
  if 'sequence_period' in values:
    _check_sequences(values)
  if 'num_minibatches' in values:
    _check_minibatches(values)
  if values.get('sequence_length', 2) < 2:
    raise ValueError('sequence_length=1 is no sequence; give it 2 or more')
  if 'vmin' in values:
    _check_atoms(values)


def _check_range(name: str, value: Any) -> None:
  if name == 'hidden_layer_sizes' and not (value and min(value) >= 1):
    raise ValueError(
      f'{name}={value}: at least one layer is needed, and 1 or more in each'
    )
  if name in _SHARES and not 0 <= value <= 1:
    raise ValueError(f'{name}={value} is not between 0 and 1')
  if name in _ABOVE_0 and not value > 0:
    raise ValueError(f'{name}={value} is not above 0')
  greatest = _GREATEST.get(type(value))
  if greatest is not None and abs(value) > greatest:
    raise ValueError(f'{name}={value} is too great a number')
  if isinstance(value, float) and value < 0 and name not in _MAY_BE_NEGATIVE:
    raise ValueError(f'{name}={value} is below 0')


def _check_replay(values: dict[str, Any]) -> None:
  least, most = values['min_replay_size'], values['max_replay_size']
  if least > most:
    raise ValueError(
      f'min_replay_size={least} is above max_replay_size={most}, so learning '
      'would never start'
    )
  if 'samples_per_insert' in values:
    cause = f'samples_per_insert={values["samples_per_insert"]}'
    ratio = values['samples_per_insert']
  else:
    # As `OffPolicy.for_acme` says it.
    names = ('batch_size', 'gradient_steps_per_step')
    cause = ' and '.join(f'{name}={values[name]}' for name in names)
    ratio = math.prod(values[name] for name in names)
  if not ratio:
    return  # Samples without a limit.
  # Reverb's buffer must hold a step of either side, or both might wait.
  needed = math.ceil(max(1.0, 1 / ratio) / _TOLERANCE - 1e-6)
  if least < needed:
    raise ValueError(
      f'min_replay_size={least} is too small for {cause}: actors and learner '
      f'would wait for each other; give it {needed} or more'
    )


def _check_sequences(values: dict[str, Any]) -> None:
  period = values['sequence_period']
  length = values['burn_in_length'] + values['trace_length'] + 1
  if period > length:
    raise ValueError(
      f'sequence_period={period} is above the {length} steps of a sequence '
      '(burn_in_length + trace_length + 1), so steps between them would be lost'
    )


def _check_minibatches(values: dict[str, Any]) -> None:
  steps = values['batch_size'] * values['unroll_length']
  if steps % values['num_minibatches']:
    raise ValueError(
      f'num_minibatches={values["num_minibatches"]} does not divide the '
      f'{steps} steps of a batch (batch_size * unroll_length)'
    )


def _check_atoms(values: dict[str, Any]) -> None:
  if not values['vmin'] < values['vmax']:
    raise ValueError(
      f'vmin={values["vmin"]} is not below vmax={values["vmax"]}'
    )
  if values['num_atoms'] < 2:
    raise ValueError(f'num_atoms={values["num_atoms"]}: give it 2 or more')
