"""The flags' values that describe a run, and the program made from them.

The values are checked before Acme is imported, which takes seconds, so that a
wrong flag is refused at once.
"""

import contextlib
import dataclasses
import functools
import pathlib
import sys
import threading
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from nodes import schedule
from programs import agents, environments, own_modules
from run_files import damage
from run_files import run_dir as run_dir_lib

MAX_SEED = 2**31 - 1
_SLOW_SECONDS = 15.0


class WrongUsage(ValueError):
  """The command line is wrong; the text says what is wrong with it."""


@dataclasses.dataclass(frozen=True)
class Settings:
  """The values of the flags that describe a run, each by its flag's name."""

  agent: str
  env: str
  config: str
  seed: int
  num_actors: int
  envs_per_actor: int
  num_steps: int
  program: str
  demonstrations: str | None
  record: bool
  evaluations: str
  checkpoint_every: float
  checkpoint_replay: bool
  profile: bool
  non_finite: str = 'stop'

  def check(self) -> None:
    """Checks the values, as far as this can be done without Acme.

    Raises:
      WrongUsage: a value is wrong.
    """
    _blame('env', environments.check_environment, self.env)
    self.agent_config()
    _blame('evaluations', schedule.parse, self.evaluations)
    _blame(
      f'agent={self.agent}',
      agents.check_program,
      *(self.agent, self.program, self.demonstrations is not None),
    )

  def agent_config(self) -> Any:
    """Returns the agent's config."""
    _blame('agent', agents.make_config, self.agent)
    return _blame('config', agents.make_config, self.agent, self.config)

  @property
  def preload(self) -> tuple[str, ...]:
    """The modules that every process of the run will need."""
    family = self.env.partition(':')[0]
    return (
      *agents.modules(self.agent),
      f'programs.environments.{family}',
    )

  def make_experiment(self, run_dir: pathlib.Path):
    """Returns the `programs.experiment.ExperimentConfig`.

    Args:
      run_dir: the run directory, which the processes write to.

    Raises:
      own_modules.OwnCodeError: the user's own environment or agent raised.
      WrongUsage: the environment, the agent or the dataset cannot be made from
        these values, or they do not fit each other.
    """
    import compat  # noqa: F401

    from programs import experiment

    environment_factory = environments.make_environment_factory(self.env)
    spec = _blame('env', self._try_out, environment_factory)
    config, dataset = self.agent_config(), self._dataset(spec)
    parts = _blame(
      f'agent with --env={self.env}',
      agents.make_parts,
      *(self.agent, spec, config, dataset),
    )
    is_offline = self.program == 'offline'
    made = experiment.ExperimentConfig(
      builder=parts.builder,
      network_factory=parts.network_factory,
      environment_factory=environment_factory,
      max_num_actor_steps=None if is_offline else self.num_steps,
      max_num_learner_steps=self.num_steps if is_offline else None,
      envs_per_actor=self.envs_per_actor,
      seed=self.seed,
      policy_factory=parts.policy_factory,
      eval_policy_factory=parts.eval_policy_factory,
      evaluations=schedule.parse(self.evaluations),
      environment_spec=spec,
      variable_names=parts.variable_names,
      non_finite=self.non_finite,
    )
    if is_offline:
      factory = agents.make_dataset_factory(self.agent, config, dataset)
      made = dataclasses.replace(made, dataset_factory=factory)
    return self._writing_to(run_dir, made)

  def _writing_to(self, run_dir: pathlib.Path, experiment: Any):
    """Returns the experiment, with loggers and checkpoints in a directory."""
    from nodes.saving import checkpoint
    from programs.data import recording
    from reporting import loggers, profile

    return dataclasses.replace(
      experiment,
      observers=[recording.Recorder(run_dir)] if self.record else (),
      logger_factory=loggers.logger_factory(str(run_dir)),
      checkpointing=checkpoint.CheckpointingConfig(
        str(run_dir / 'checkpoints'),
        self.checkpoint_every,
        keep_replay=self.checkpoint_replay,
      ),
      profile_dir=str(run_dir / profile.FOLDER) if self.profile else None,
    )

  def _try_out(self, make_environment: Any):
    """Makes the environment take a step; returns its spec."""
    from acme import specs

    text = f'launch.py: waiting for the first step of --env={self.env}'
    with _say_if_slow(text), environments.own_code(self.env):
      environment = make_environment(self.seed)
      try:
        environments.try_out(environment)
        return specs.make_environment_spec(environment)
      finally:
        environment.close()

  def _dataset(self, spec: Any):
    if self.demonstrations is None:
      return None
    from programs.data import demonstrations

    dataset = demonstrations.Demonstrations(
      self.demonstrations, spec, self.seed
    )
    _blame('demonstrations', dataset.load)
    return dataset

  def make_program(self, run_dir: pathlib.Path):
    """Returns the `lp.Program`.

    Args:
      run_dir: the run directory, which the processes write to.

    Raises:
      own_modules.OwnCodeError: as in `make_experiment`.
      WrongUsage: as in `make_experiment`, or the replay server would refuse the
        agent's tables.
    """
    from programs import distributed, offline, replay_tables

    experiment = self.make_experiment(run_dir)
    if self.program == 'offline':
      return offline.make_program(experiment)
    refused = replay_tables.RefusedTablesError
    try:
      with own_modules.own_code(f'the agent {self.agent}', (refused,)):
        replay_tables.check(experiment)
    except refused as e:
      raise WrongUsage(f'--config: {e}; it has {self.agent_config()}') from e
    return distributed.make_program(experiment, self.num_actors)


NAMES = tuple(field.name for field in dataclasses.fields(Settings))


def read(run_dir: pathlib.Path) -> Settings:
  """Returns the settings of the run in a directory.

  Raises:
    WrongUsage: the directory holds no run, or one of another version of this
      repository.
    damage.DamagedError: its settings are damaged.
  """
  try:
    return make_settings(run_dir_lib.read_config(run_dir))
  except FileNotFoundError as e:
    raise WrongUsage(str(e)) from e
  except TypeError as e:
    raise WrongUsage(
      f'{run_dir} holds a run of another version of this repository ({e})'
    ) from e


def make_settings(values: Mapping[str, Any]) -> Settings:
  """Returns settings made of the flags' values.

  Args:
    values: the flags' values, by the flags' names.

  Raises:
    TypeError: a flag is missing or unknown, as in a run of another version.
    damage.DamagedError: a value is not of its flag's type.
  """
  for name, kind in typing.get_type_hints(Settings).items():
    # JSON does not tell 30 from 30.0.
    kind = kind | int if kind is float else kind
    if name in values and not isinstance(values[name], kind):
      raise damage.DamagedError(
        f"the run's settings are damaged: --{name} cannot be {values[name]!r}"
      )
  source = values.get('demonstrations')
  # With an absolute path, the run can be resumed from any working directory.
  if source and not source.startswith('minari:'):
    values = {**values, 'demonstrations': str(pathlib.Path(source).absolute())}
  return Settings(**values)


@contextlib.contextmanager
def _say_if_slow(text: str) -> Iterator[None]:
  """Prints a text if the body of the `with` takes long."""
  print_it = functools.partial(print, text, file=sys.stderr, flush=True)
  timer = threading.Timer(_SLOW_SECONDS, print_it)
  timer.daemon = True
  timer.start()
  try:
    yield
  finally:
    timer.cancel()


def _blame(flag: str, function: Any, *args: Any) -> Any:
  """Calls a function; turns its `ValueError` into one that names a flag."""
  try:
    return function(*args)
  except ValueError as e:
    raise WrongUsage(f'--{flag}: {e}') from e
