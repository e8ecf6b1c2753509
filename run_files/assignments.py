"""Texts of the form `learning_rate=3e-4,n_step=3`, as `--config` takes them."""

import re

# A comma that separates assignments is followed by a name and an equals sign.
_SEPARATOR = re.compile(r',(?=\s*\w+\s*=)')


def split(text: str) -> list[tuple[str, str, str]]:
  """Returns the assignments in a text, each as (name, '=', value).

  A part without an equals sign becomes a name with '' for the sign and value.
  """
  parts = filter(None, map(str.strip, _SEPARATOR.split(text)))
  return [tuple(word.strip() for word in part.partition('=')) for part in parts]
