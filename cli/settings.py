"""What a run is, by its flags' values: checked, kept, and made into a program.

Nothing heavy is imported before the values have been checked: Acme takes
seconds, which a wrong flag should not.
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
  """The command line asks for what cannot be had; its text says what."""


@dataclasses.dataclass(frozen=True)
class Settings:
  """The flags of `launch.py` that describe a run, under their names there."""

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
    """Checks what can be checked without Acme.

    Raises:
      WrongUsage: something is wrong.
    """
    _name('env', environments.check_environment, self.env)
    self.agent_config()
    _name('evaluations', schedule.parse, self.evaluations)
    _name(
      f'agent={self.agent}',
      agents.check_program,
      *(self.agent, self.program, self.demonstrations is not None),
    )

  def agent_config(self) -> Any:
    """Returns the agent's config."""
    _name('agent', agents.make_config, self.agent)
    return _name('config', agents.make_config, self.agent, self.config)

  @property
  def preload(self) -> tuple[str, ...]:
    """The modules that all processes will need for these settings."""
    family = self.env.partition(':')[0]
    return (
      *agents.modules(self.agent),
      f'programs.environments.{family}',
    )

  def make_experiment(self, run_dir: pathlib.Path):
    """Returns the `programs.experiment.ExperimentConfig`.

    Args:
      run_dir: where its processes write.

    Raises:
      own_modules.OwnCodeError: the environment or an agent of one's own raised.
      WrongUsage: environment, agent, dataset or settings cannot be had, or not
        together.
    """
    import compat  # noqa: F401

    from nodes.saving import checkpoint
    from programs import experiment
    from programs.data import recording
    from reporting import loggers, profile

    environment_factory = environments.make_environment_factory(self.env)
    spec = _name('env', self._try_out, environment_factory)
    config, dataset = self.agent_config(), self._dataset(spec)
    parts = _name(
      f'agent with --env={self.env}',
      agents.make_parts,
      *(self.agent, spec, config, dataset),
    )
    is_offline = self.program == 'offline'
    return experiment.ExperimentConfig(
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
      observers=[recording.Recorder(run_dir)] if self.record else (),
      logger_factory=loggers.logger_factory(str(run_dir)),
      checkpointing=checkpoint.CheckpointingConfig(
        str(run_dir / 'checkpoints'),
        self.checkpoint_every,
        keep_replay=self.checkpoint_replay,
      ),
      variable_names=parts.variable_names,
      profile_dir=str(run_dir / profile.FOLDER) if self.profile else None,
      non_finite=self.non_finite,
      dataset_factory=(
        agents.make_dataset_factory(self.agent, config, dataset)
        if is_offline
        else None
      ),
    )

  def _try_out(self, make_environment: Any):
    """Returns the spec of an environment that has made a step."""
    from acme import specs

    text = f'launch.py: nothing starts before --env={self.env} has made a step'
    with _said_if_slow(text), environments.own_code(self.env):
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
    _name('demonstrations', dataset.load)
    return dataset

  def make_program(self, run_dir: pathlib.Path):
    """Returns the `lp.Program`; raises as `make_experiment` does.

    What the replay server would refuse is refused here.
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
    WrongUsage: there is no run, or one of another version of this repository.
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
  """Returns settings; what to learn from is the same wherever that is asked.

  Args:
    values: by the names of flags.

  Raises:
    TypeError: the values are another version's.
    DamagedError: one of them is of another type.
  """
  for name, kind in typing.get_type_hints(Settings).items():
    # JSON has no float that is whole.
    kind = kind | int if kind is float else kind
    if name in values and not isinstance(values[name], kind):
      raise damage.DamagedError(
        f"the run's settings are damaged: --{name} cannot be {values[name]!r}"
      )
  source = values.get('demonstrations')
  if source and not source.startswith('minari:'):
    values = {**values, 'demonstrations': str(pathlib.Path(source).absolute())}
  return Settings(**values)


@contextlib.contextmanager
def _said_if_slow(text: str) -> Iterator[None]:
  """Prints a text if what is done inside takes long, or for ever."""
  print_it = functools.partial(print, text, file=sys.stderr, flush=True)
  timer = threading.Timer(_SLOW_SECONDS, print_it)
  timer.daemon = True
  timer.start()
  try:
    yield
  finally:
    timer.cancel()


def _name(flag: str, function: Any, *args: Any) -> Any:
  """Calls a function; an error names the flag whose value it was about."""
  try:
    return function(*args)
  except ValueError as e:
    raise WrongUsage(f'--{flag}: {e}') from e
