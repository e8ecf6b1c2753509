"""The agents that `launch.py --agent` knows, each described in its own file.

To add an agent, write a file that describes it as `AGENT`, and add its name to
`AGENTS`. `shared.description` says what a description contains. An agent that
does more than put Acme's parts together is a folder: its `__init__.py`
describes it. Its `parts.py` is imported later, so it may import Acme at the
top.

A user's own agent need not be in this folder: its name is
`module:package.module`, and that module has an `AGENT` too.
"""

import dataclasses
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from programs import own_modules
from programs.agents.shared import description, limits, overrides

AGENTS = (
  'sac',
  'td3',
  'd4pg',
  'ppo',
  'dqn',
  'ddqn',
  'impala',
  'r2d2',
  'bc',
  'value_dice',
  'ail',
)
# The modules that the parts of most agents import. A process that has imported
# them is forked into the run's tasks.
_IMPORTED_BY_PARTS = (
  'acme.agents.jax.actors',
  'acme.datasets',
  'acme.jax.savers',
  'optax',
  'programs.agents.shared.networks',
  'rlax',
)


def find(name: str) -> description.Agent:
  """Returns the description of an agent.

  Args:
    name: one of `AGENTS`, or `module:package.module`.

  Raises:
    OwnCodeError: the user's own module raised an error.
    ValueError: there is no such agent.
  """
  if _is_own(name):
    return _find_own(_module_name(name))
  if name not in AGENTS:
    raise ValueError(
      f'unknown agent {name!r}; known: {", ".join(AGENTS)}, and your own as '
      'module:PACKAGE.MODULE'
    )
  return importlib.import_module(_module_name(name)).AGENT


def modules(name: str) -> tuple[str, ...]:
  """Returns the modules that the processes of an agent's run will import."""
  return (_module_name(name), *_IMPORTED_BY_PARTS)


def make_config(name: str, settings: str = '') -> description.Config:
  """Returns an agent's config.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    settings: the fields that differ from their defaults, in the form that
      `overrides.apply` takes.

  Raises:
    OwnCodeError: the code of a user's own agent raised an error.
    ValueError: there is no such agent, or it refuses these settings.
  """
  agent = find(name)
  called = f'{_module_name(name)}.AGENT'
  with own_modules.own_code(f'{called}.config_type'):
    config = agent.config_type()
  config = overrides.apply(config, settings)
  limits.check(config)
  with own_modules.own_code(f'{called}.check_config', (ValueError,)):
    agent.check_config(config)
  return config


def check_program(name: str, program: str, has_demonstrations: bool) -> None:
  """Raises `ValueError` if an agent cannot learn in a program.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    program: 'distributed' or 'offline'.
    has_demonstrations: whether there are recorded episodes to learn from.
  """
  learns_from = find(name).learns_from
  is_offline = program == 'offline'
  if is_offline and not learns_from.can_be_offline:
    raise ValueError('it learns from its own actors; leave out --program')
  if not is_offline and not learns_from.has_actors:
    raise ValueError('it has no actors; add --program=offline')
  needed = is_offline or learns_from.needs_demonstrations
  if needed and not has_demonstrations:
    raise ValueError(
      'it learns from recorded episodes; name the directory of a run with '
      '--record by --demonstrations'
    )
  if has_demonstrations and not needed:
    raise ValueError(
      'it does not imitate; leave out --demonstrations, or add '
      '--program=offline'
    )


def make_parts(
  name: str,
  environment_spec: description.EnvironmentSpec,
  config: description.Config = None,
  demonstrations: description.Demonstrations = None,
) -> description.AgentParts:
  """Returns an agent's parts for an experiment.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    environment_spec: the specs of the environment.
    config: the agent's settings, from `make_config`. None means the defaults.
    demonstrations: the episodes to imitate, for an agent that needs them.

  Raises:
    OwnCodeError: the code of a user's own agent raised an error.
    ValueError: there is no such agent, or it cannot act in such an environment.
  """
  # Late, since it imports Acme.
  from programs.agents.shared import spaces

  agent = find(name)
  spaces.check(name, agent, environment_spec, {a: find(a) for a in AGENTS})
  arguments = [environment_spec, config or make_config(name)]
  if agent.learns_from.needs_demonstrations:
    arguments.append(demonstrations)
  if not _is_own(name):
    return agent.make_parts(*arguments)
  called = f'{_module_name(name)}.AGENT.make_parts'
  with own_modules.own_code(called):
    parts = agent.make_parts(*arguments)
  if not isinstance(parts, description.AgentParts):
    raise ValueError(
      f'{called} returned a {type(parts).__name__}, and must return a '
      'programs.agents.shared.description.AgentParts'
    )
  return parts


def make_dataset_factory(
  name: str,
  config: description.Config,
  demonstrations: description.Demonstrations,
) -> Callable[[], Iterator[Any]]:
  """Returns a function that makes the batches of an agent that learns offline.

  Args:
    name: one of `AGENTS`, or `module:package.module`.
    config: the agent's settings, from `make_config`.
    demonstrations: the recorded episodes.
  """
  from programs.data import demonstrations as demonstrations_lib

  make_dataset = find(name).make_dataset or demonstrations_lib.replay_samples
  return lambda: make_dataset(config, demonstrations)


def _is_own(name: str) -> bool:
  return name.startswith(own_modules.PREFIX)


def _module_name(name: str) -> str:
  if _is_own(name):
    return name.removeprefix(own_modules.PREFIX)
  return f'programs.agents.{name}'


def _find_own(module_name: str) -> description.Agent:
  agent = getattr(own_modules.load(module_name), 'AGENT', None)
  if not isinstance(agent, description.Agent):
    raise ValueError(
      f'{module_name} has no AGENT; an agent is a module with `AGENT`, a '
      'programs.agents.shared.description.Agent'
    )
  config_name = f'{module_name}.AGENT.config_type'
  if not dataclasses.is_dataclass(agent.config_type):
    raise ValueError(f'{config_name} is not a dataclass')
  for field in dataclasses.fields(agent.config_type):
    defaults = (field.default, field.default_factory)
    if field.init and all(d is dataclasses.MISSING for d in defaults):
      raise ValueError(
        f'{config_name} needs a default for every setting, and {field.name} '
        'has none'
      )
  return agent
