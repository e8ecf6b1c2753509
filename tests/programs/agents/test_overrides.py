"""An agent's settings are read from a text, or refused where they are wrong."""

import dataclasses

import pytest

from programs.agents.shared import overrides


@dataclasses.dataclass(frozen=True)
class _Config:
  learning_rate: float = 1e-3
  batch_size: int = 128
  layers: tuple[int, ...] = (64, 64)
  clip: float | None = None
  dueling: bool = False
  optimizer: str = 'adam'


@pytest.mark.parametrize(
  'text, changes',
  [
    ('', {}),
    ('learning_rate=3e-4', {'learning_rate': 3e-4}),
    ('learning_rate=1', {'learning_rate': 1.0}),
    (
      'batch_size=64, layers=(32, 16), clip=0.5',
      {'batch_size': 64, 'layers': (32, 16), 'clip': 0.5},
    ),
    ('clip=None,layers=(8,)', {'clip': None, 'layers': (8,)}),
    ('dueling=True,optimizer=sgd', {'dueling': True, 'optimizer': 'sgd'}),
  ],
)
def test_fields_are_replaced(text, changes):
  config = overrides.apply(_Config(), text)
  assert config == dataclasses.replace(_Config(), **changes)
  for name, value in changes.items():
    assert type(getattr(config, name)) is type(value)


@pytest.mark.parametrize(
  'text, expected',
  [
    ('learnin_rate=1', "'learning_rate' (float)"),
    ('zzz=1', 'All: learning_rate, batch_size'),
    ('batch_size=1.5', "batch_size is int, not '1.5'"),
    ('batch_size=True', "batch_size is int, not 'True'"),
    ('layers=64', "layers is tuple[int, ...], not '64'"),
    ('layers=(64, 0.5)', 'tuple[int, ...]'),
    ('clip=yes', 'float | None'),
    ('batch_size=-1', 'batch_size counts something'),
    ('batch_size=0', 'cannot be 0'),
    ('learning_rate=1e999', 'learning_rate is a number, not inf'),
    ('batch_size=1,batch_size=2', 'given twice'),
    ('dueling', "'dueling' is not of the form field=value"),
  ],
)
def test_a_wrong_setting_is_refused_by_its_name(text, expected):
  with pytest.raises(ValueError) as error:
    overrides.apply(_Config(), text)
  assert expected in str(error.value)
