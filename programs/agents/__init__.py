"""The agents that `launch.py --agent` knows: a file each, imported when asked.

Each file has `make_agent(environment_spec, config) -> AgentParts`, with a third
argument if it imitates `demonstrations`; the configs are in `configs`. One's
own is named `module:package.module`: that module has `make_agent`, and as
`Config` a dataclass of its settings.
"""

import dataclasses
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from programs import own_modules
from programs.agents import configs, limits, overrides

AGENTS = tuple(configs.CONFIGS)


@dataclasses.dataclass(frozen=True)
class AgentParts:
  """What an agent brings to an `ExperimentConfig`; fields as there.

  Attributes:
    builder: an Acme builder of either form.
    network_factory: makes the networks from the environment's spec.
    policy_factory: makes the actors' policy.
    eval_policy_factory: makes the evaluators' policy.
    variable_names: what actors ask the learner's `get_variables` for.
  """

  builder: Any
  network_factory: Callable[..., Any]
  policy_factory: Callable[..., Any] | None = None
  eval_policy_factory: Callable[..., Any] | None = None
  variable_names: Sequence[str] = ('policy',)


def make_config(name: str, settings: str = '') -> Any:
  """Returns an agent's config.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    settings: fields that are not the default, as `overrides.apply` takes them.

  Raises:
    ValueError: there is no such agent, or it cannot have such settings.
  """
  if is_own(name):
    return overrides.apply(_own_config(name), settings)
  if name not in AGENTS:
    raise ValueError(
      f'unknown agent {name!r}; known: {", ".join(AGENTS)}, and your own as '
      'module:PACKAGE.MODULE'
    )
  config = overrides.apply(configs.CONFIGS[name](), settings)
  limits.check(config)
  return config


def is_own(name: str) -> bool:
  """Whether an agent is not one of `AGENTS`, but in a module of one's own."""
  return name.startswith(own_modules.PREFIX)


def module_name(name: str) -> str:
  """Returns the name of the module that an agent is in."""
  if is_own(name):
    return name.removeprefix(own_modules.PREFIX)
  return f'programs.agents.{name}'


def check_program(name: str, program: str, has_demonstrations: bool) -> None:
  """Raises `ValueError` if an agent cannot be run so.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    program: 'distributed' or 'offline'.
    has_demonstrations: whether there are recorded episodes to learn from.
  """
  if program == 'offline' and name in configs.ONLINE_ONLY:
    raise ValueError('it learns from its own actors; leave out --program')
  if program != 'offline' and name in configs.OFFLINE_ONLY:
    raise ValueError('it has no actors; add --program=offline')
  needed = program == 'offline' or name in configs.IMITATORS
  if needed and not has_demonstrations:
    raise ValueError(
      'it learns from recorded episodes; name the directory of a run with '
      '--record by --demonstrations'
    )
  if has_demonstrations and not needed:
    raise ValueError(
      'it imitates nobody; leave out --demonstrations, or add --program=offline'
    )


def make_agent(
  name: str,
  environment_spec: Any,
  config: Any = None,
  demonstrations: Any = None,
) -> AgentParts:
  """Imports the agent's module and returns its parts.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    environment_spec: an `acme.specs.EnvironmentSpec`.
    config: the agent's, from `make_config`; None is its default.
    demonstrations: a `programs.data.demonstrations.Demonstrations` for one that
      imitates.

  Raises:
    ValueError: there is no such agent, or it cannot act in such an environment.
  """
  if not is_own(name):
    from programs.agents import spaces

    spaces.check(name, environment_spec)
  module = _module(name)
  config = config or make_config(name)
  if name in configs.IMITATORS:
    return module.make_agent(environment_spec, config, demonstrations)
  if is_own(name):
    with own_modules.own_code(f'{module_name(name)}.make_agent'):
      parts = module.make_agent(environment_spec, config)
  else:
    parts = module.make_agent(environment_spec, config)
  if not isinstance(parts, AgentParts):
    raise ValueError(
      f'{module_name(name)}.make_agent returned a {type(parts).__name__}, and '
      'must return a programs.agents.AgentParts'
    )
  return parts


def make_dataset_factory(
  name: str, config: Any, demonstrations: Any
) -> Callable[[], Iterator[Any]]:
  """Returns what makes an agent's batches from a dataset alone.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    config: the agent's, from `make_config`.
    demonstrations: a `programs.data.demonstrations.Demonstrations`.
  """
  from programs.data import demonstrations as demonstrations_lib

  module = _module(name)
  make = getattr(module, 'make_dataset', demonstrations_lib.replay_samples)
  return lambda: make(config, demonstrations)


def table() -> str:
  """Returns a line for each agent: what it takes, and its data."""
  lines = [_line('agent', 'actions', 'observations', 'learns from')]
  for name in AGENTS:
    source = 'its actors'
    if name in configs.IMITATORS:
      source = 'its actors, imitating --demonstrations'
    if name in configs.OFFLINE_ONLY:
      source = '--demonstrations'
    elif name not in configs.ONLINE_ONLY:
      source += '; also with --program=offline'
    observations = configs.OBSERVATIONS[name]
    lines.append(
      _line(
        name,
        ' or '.join(configs.ACTIONS[name]),
        'any' if 'other' in observations else ' or '.join(observations),
        source,
      )
    )
  return '\n'.join(lines)


def _line(name: str, actions: str, observations: str, source: str) -> str:
  return f'{name:<12}{actions:<25}{observations:<18}{source}'


def _module(name: str) -> Any:
  if not is_own(name):
    return importlib.import_module(module_name(name))
  module = own_modules.load(module_name(name))
  for needed in ('Config', 'make_agent'):
    if not hasattr(module, needed):
      raise ValueError(
        f'{module_name(name)} has no {needed}; an agent is a module with '
        '`Config`, a dataclass, and `make_agent(environment_spec, config)`'
      )
  return module


def _own_config(name: str) -> Any:
  kind = _module(name).Config
  if not dataclasses.is_dataclass(kind):
    raise ValueError(f'{module_name(name)}.Config is not a dataclass')
  for field in dataclasses.fields(kind):
    defaults = (field.default, field.default_factory)
    if field.init and all(d is dataclasses.MISSING for d in defaults):
      raise ValueError(
        f'{module_name(name)}.Config needs a default for every setting, and '
        f'{field.name} has none'
      )
  with own_modules.own_code(f'{module_name(name)}.Config'):
    return kind()
