"""The text of `--kubernetes`: `image=rl:1,volume=c:/runs;actor:memory=2Gi`."""

import dataclasses
import pathlib
import re
from collections.abc import Mapping

from backends import resources as resources_lib

# The options that each run needs, and how to write them.
_NEEDED = {
  'image': 'image=REGISTRY/NAME:TAG, the image built from Dockerfile',
  'volume': 'volume=CLAIM:/PATH, a volume claim and its path in the pods',
}
_OF_RUN = (*_NEEDED, 'namespace', 'context')
MEMORY = 'memory'
# The key of a node's label, or of a node's taint, follows each of these.
SELECTOR, TOLERATION = 'nodeSelector.', 'toleration.'
_OF_PODS = (MEMORY, f'{SELECTOR}KEY', f'{TOLERATION}KEY')
_FORMS = {
  'volume': re.compile(r'[a-z0-9]([a-z0-9.-]*[a-z0-9])?:/[^:]+'),
  'namespace': re.compile(r'[a-z0-9]([a-z0-9-]*[a-z0-9])?'),
  MEMORY: re.compile(r'[1-9]\d*([kMGT]|[KMGT]i)?'),
}
_EXAMPLES = {'volume': 'runs:/runs', 'namespace': 'rl', MEMORY: '16Gi'}


@dataclasses.dataclass(frozen=True)
class Options:
  """The options in `--kubernetes`.

  Attributes:
    run: the options of the whole run by name. Any may be missing.
    pods: the options of pods by role. Options of all pods are under None.
  """

  run: Mapping[str, str]
  pods: Mapping[str | None, Mapping[str, str]]

  def check_complete(self) -> None:
    """Raises `ValueError` if an option that each run needs is missing."""
    for name, form in _NEEDED.items():
      if name not in self.run:
        raise ValueError(f'{name} is missing; add {form}')

  @property
  def claim(self) -> str:
    """The name of the volume's claim."""
    return self.run['volume'].partition(':')[0]

  @property
  def mount_path(self) -> pathlib.PurePosixPath:
    """The volume's path in the pods."""
    return pathlib.PurePosixPath(self.run['volume'].partition(':')[2])

  def of(self, role: str) -> Mapping[str, str]:
    """Returns the options of a role's pods."""
    return {**self.pods.get(None, {}), **self.pods.get(role, {})}


def parse(text: str) -> Options:
  """Returns the options in a text.

  Args:
    text: options as in this module's first line; empty for none.

  Raises:
    ValueError: the text is malformed, or names an option that does not exist.
  """
  split = resources_lib.split(text)
  for role, items in split.items():
    for name, value in items.items():
      _check(role, name, value)
  of_all = split.pop(None, {})
  run = {name: of_all.pop(name) for name in _OF_RUN if name in of_all}
  return Options(run, {None: of_all, **split})


def _check(role: str | None, name: str, value: str) -> None:
  of = f'{role}: ' if role else ''
  if role and name in _OF_RUN:
    raise ValueError(
      f'{of}{name} is an option of the whole run; write it before the first ;'
    )
  has_key = any(
    name.startswith(prefix) and name != prefix
    for prefix in (SELECTOR, TOLERATION)
  )
  allowed = _OF_PODS if role else (*_OF_RUN, *_OF_PODS)
  if not has_key and name not in (MEMORY, *_OF_RUN):
    nearest = resources_lib.nearest(name, allowed)
    raise ValueError(f'{of}there is no {name!r}; {nearest}')
  form = _FORMS.get(name)
  is_empty = not value and not name.startswith(TOLERATION)
  if is_empty or (form and not form.fullmatch(value)):
    example = _EXAMPLES.get(name, 'VALUE')
    raise ValueError(f'{of}{name}={value}: write it as in {name}={example}')
