"""Trains an agent as one distributed program: flags in, a run directory out.

python launch.py --num_actors=2 --agent=sac --env=gym:Pendulum-v1
"""

import os
import pathlib
import sys
from typing import Any

from tools import check

if __name__ == '__main__':
  check.check()

from absl import app, flags

from nodes import schedule
from programs import agents, environments
from reporting import run_dir as run_dir_lib

_NUM_ACTORS = flags.DEFINE_integer(
  'num_actors', 2, 'Actor processes.', lower_bound=1
)
_AGENT = flags.DEFINE_enum('agent', 'sac', agents.AGENTS, 'What learns.')
_ENV = flags.DEFINE_string(
  'env', 'gym:Pendulum-v1', 'Where it acts, such as gym:ID for Gymnasium.'
)
_CONFIG = flags.DEFINE_string(
  'config',
  '',
  "The agent's settings that are not its defaults, such as "
  'learning_rate=3e-4,batch_size=64.',
)
_PROGRAM = flags.DEFINE_enum(
  'program',
  'distributed',
  ['distributed', 'offline'],
  "What runs: 'distributed' has actors, 'offline' learns from "
  '--demonstrations alone.',
)
_DEMONSTRATIONS = flags.DEFINE_string(
  'demonstrations',
  None,
  'The directory of a run with --record, or minari:ID, for an agent to imitate '
  'or to learn from.',
)
_RECORD = flags.DEFINE_bool(
  'record', False, 'Whether to keep every episode in the run directory.'
)
_LIST = flags.DEFINE_bool('list', False, 'Show what --agent knows, and end.')
_EVALUATIONS = flags.DEFINE_string(
  'evaluations',
  '3s',
  'When to evaluate, for one evaluator each: 30s, 1000steps of the learner, or '
  '1000steps*5 for five episodes; with commas between.',
)
_NUM_STEPS = flags.DEFINE_integer(
  'num_steps',
  8_000,
  'Environment steps, of all actors together, after which the run ends; '
  "steps of the learner with --program='offline'.",
  lower_bound=1,
)
_SEED = flags.DEFINE_integer(
  'seed',
  0,
  'Every random number of the run derives from it.',
  lower_bound=0,
  upper_bound=2**31 - 1,
)
_RUN_DIR = flags.DEFINE_multi_string(
  'run_dir',
  None,
  'Where configuration, metrics, checkpoints and figures go. '
  'Default: a new folder in runs/. Of several the last counts, but with '
  '--report each.',
)
_RESUME = flags.DEFINE_bool('resume', False, 'Go on with the run in --run_dir.')
_CHECKPOINT_EVERY = flags.DEFINE_float(
  'checkpoint_every', 30.0, 'Seconds between checkpoints.', lower_bound=0.0
)
_CHECKPOINT_REPLAY = flags.DEFINE_bool(
  'checkpoint_replay', False, 'Whether checkpoints keep replay as well.'
)
_STUCK_AFTER = flags.DEFINE_float(
  'stuck_after',
  60.0,
  'Seconds without a step of any actor, or of the learner, after which the run '
  'says who waits for whom.',
  lower_bound=1.0,
)
_STATUS = flags.DEFINE_bool(
  'status', False, 'Show what the run in --run_dir is doing, and end.'
)
_REPORT = flags.DEFINE_bool(
  'report',
  False,
  'Write a page that compares the runs in --run_dir=A --run_dir=B or '
  '--run_dir=A,B, and end.',
)
_REPORT_PATH = flags.DEFINE_string(
  'report_path', None, 'Of the page. Default: report.html in the first run.'
)
_EXPORT = flags.DEFINE_bool(
  'export',
  False,
  'Write the policy of the run in --run_dir, from its newest checkpoint, and '
  'end.',
)
_LAUNCH_TYPE = flags.DEFINE_enum(
  'lp_launch_type',
  'local',
  ['local', 'local_mp', 'local_mt', 'test_mt', 'vertex_ai'],
  "How the program runs: 'local' supervises processes on this machine, the "
  "others are Launchpad's own.",
  allow_override=True,
)
_WRONG_USAGE = 2


class WrongUsage(ValueError):
  """The command line asks for what cannot be had; its text says what."""


def main(argv: list[str]) -> int:
  """Runs the program that the flags describe; returns the exit code."""
  # Launchpad, once imported, defines this flag over again with its own default.
  launch_type = _LAUNCH_TYPE.value
  if _LIST.value:
    print(agents.table())
    return 0
  if _STATUS.value:
    return show_status()
  if _REPORT.value:
    return write_report(argv[1:])
  if _EXPORT.value:
    return export_policy()
  run_dir = pathlib.Path(_run_dir() or _default_run_dir()).absolute()
  try:
    check_environment()
    make_agent_config()
    check_program()
    make_schedules()
    make_run_dir(run_dir)
    return launch(run_dir, launch_type)
  except WrongUsage as e:
    return refuse(str(e))


def show_status() -> int:
  """Prints what the run in `--run_dir` is doing; returns the exit code."""
  from watchdog import status

  if not _run_dir():
    return refuse('--status: say of which run with --run_dir')
  try:
    print(status.page(_run_dir()))
  except (FileNotFoundError, ValueError) as e:
    return refuse(f'--run_dir: {e}')
  return 0


def write_report(more_run_dirs: list[str]) -> int:
  """Writes the page that compares runs; returns the exit code.

  Args:
    more_run_dirs: than `--run_dir` names, as a shell makes of `--run_dir a*`.
  """
  from reporting import report

  named = [*(_RUN_DIR.value or ()), *more_run_dirs]
  run_dirs = []
  for run_dir in filter(None, named):
    # The name of a directory may have commas.
    is_one = pathlib.Path(run_dir).exists()
    run_dirs += [run_dir] if is_one else filter(None, run_dir.split(','))
  if not run_dirs:
    return refuse('--report: say of which runs with --run_dir')
  try:
    print(report.write(run_dirs, _REPORT_PATH.value))
  except (OSError, ValueError) as e:
    return refuse(f'--report: {e}')
  return 0


def export_policy() -> int:
  """Writes the policy of the run in `--run_dir`; returns the exit code."""
  if not _run_dir():
    return refuse('--export: say of which run with --run_dir')
  run_dir = pathlib.Path(_run_dir()).absolute()
  try:
    for name, value in run_dir_lib.read_config(run_dir).items():
      setattr(flags.FLAGS, name, value)
  except (FileNotFoundError, ValueError, flags.Error) as e:
    return refuse(f'--run_dir: {e}')
  # A run that still goes on has the accelerator to itself.
  os.environ['JAX_PLATFORMS'] = 'cpu'
  return 0 if keep_policy(run_dir) else 1


def keep_policy(run_dir: pathlib.Path) -> bool:
  """Writes the policy of the run that the flags describe, or says why not."""
  from programs import export

  path = run_dir / 'policy'
  try:
    export.export_newest(make_experiment(run_dir), path)
  except Exception as e:
    print(
      f'launch.py: the policy of {run_dir} could not be kept: '
      f'{type(e).__name__}: {e}\n'
      'Nothing else of the run is lost. To try again: '
      f'python launch.py --export --run_dir={run_dir}',
      file=sys.stderr,
    )
    return False
  print(f'{"policy":<15}{path}')
  return True


def config() -> dict[str, Any]:
  """Returns the flags that describe the run, by name."""
  described = (
    _AGENT,
    _ENV,
    _CONFIG,
    _SEED,
    _NUM_ACTORS,
    _NUM_STEPS,
    _CHECKPOINT_EVERY,
    _CHECKPOINT_REPLAY,
    _PROGRAM,
    _DEMONSTRATIONS,
    _RECORD,
  )
  return {flag.name: flag.value for flag in described}


def check_environment() -> None:
  """Raises `WrongUsage` if there is no such environment."""
  try:
    environments.check_environment(_ENV.value)
  except ValueError as e:
    raise WrongUsage(f'--env: {e}') from e


def make_agent_config():
  """Returns the agent's config; raises `WrongUsage` if it has no such field."""
  try:
    return agents.make_config(_AGENT.value, _CONFIG.value)
  except ValueError as e:
    raise WrongUsage(f'--config: {e}') from e


def check_program() -> None:
  """Raises `WrongUsage` if program, agent and dataset do not go together."""
  try:
    agents.check_program(
      _AGENT.value, _PROGRAM.value, _DEMONSTRATIONS.value is not None
    )
  except ValueError as e:
    raise WrongUsage(f'--agent={_AGENT.value}: {e}') from e


def make_schedules():
  """Returns the evaluators' schedules; raises `WrongUsage` if there is none."""
  try:
    return schedule.parse(_EVALUATIONS.value)
  except ValueError as e:
    raise WrongUsage(f'--evaluations: {e}') from e


def make_run_dir(run_dir: pathlib.Path) -> None:
  """Makes the run directory, or checks the one to go on with.

  Raises:
    WrongUsage: it cannot be made, or is another run's.
  """
  if _RESUME.value and not _run_dir():
    raise WrongUsage('--resume: say which run with --run_dir')
  try:
    if _RESUME.value:
      run_dir_lib.check_resume(run_dir, config())
      check_not_running(run_dir)
    else:
      run_dir_lib.create(run_dir)
  except (OSError, ValueError) as e:
    raise WrongUsage(f'--run_dir: {e}') from e


def check_not_running(run_dir: pathlib.Path) -> None:
  """Raises `ValueError` if the run in a directory still goes on."""
  from backends import status

  try:
    launcher = status.read(str(run_dir / 'logs'))['launcher']
  except FileNotFoundError:
    return
  if launcher['alive']:
    raise ValueError(
      f'the run in {run_dir} still goes on, as process {launcher["pid"]}; stop '
      'it first'
    )


def make_experiment(run_dir: pathlib.Path):
  """Returns the `programs.experiment.ExperimentConfig` that the flags describe.

  Raises:
    WrongUsage: environment, agent or settings cannot be had, or not together.
  """
  # Acme takes seconds to import, which a wrong flag should not.
  import compat  # noqa: F401

  from acme import specs

  from nodes import checkpoint
  from programs import demonstrations, experiment, recording
  from reporting import loggers

  try:
    environment_factory = environments.make_environment_factory(_ENV.value)
    environment = environment_factory(_SEED.value)
  except ValueError as e:
    raise WrongUsage(f'--env: {e}') from e
  spec = specs.make_environment_spec(environment)
  environment.close()
  agent_config, dataset = make_agent_config(), None
  if _DEMONSTRATIONS.value:
    source = _DEMONSTRATIONS.value
    if not source.startswith('minari:'):
      source = str(pathlib.Path(source).absolute())
    dataset = demonstrations.Demonstrations(source, spec, _SEED.value)
    try:
      dataset.load()
    except ValueError as e:
      raise WrongUsage(f'--demonstrations: {e}') from e
  try:
    parts = agents.make_agent(_AGENT.value, spec, agent_config, dataset)
  except ValueError as e:
    raise WrongUsage(f'--agent with --env={_ENV.value}: {e}') from e
  is_offline = _PROGRAM.value == 'offline'
  return experiment.ExperimentConfig(
    builder=parts.builder,
    network_factory=parts.network_factory,
    environment_factory=environment_factory,
    max_num_actor_steps=None if is_offline else _NUM_STEPS.value,
    max_num_learner_steps=_NUM_STEPS.value if is_offline else None,
    seed=_SEED.value,
    policy_factory=parts.policy_factory,
    eval_policy_factory=parts.eval_policy_factory,
    environment_spec=spec,
    logger_factory=loggers.logger_factory(str(run_dir)),
    checkpointing=checkpoint.CheckpointingConfig(
      str(run_dir / 'checkpoints'),
      _CHECKPOINT_EVERY.value,
      keep_replay=_CHECKPOINT_REPLAY.value,
    ),
    variable_names=parts.variable_names,
    evaluations=make_schedules(),
    dataset_factory=(
      agents.make_dataset_factory(_AGENT.value, agent_config, dataset)
      if is_offline
      else None
    ),
    observers=[recording.Recorder(run_dir)] if _RECORD.value else (),
  )


def make_program(run_dir: pathlib.Path):
  """Returns the `lp.Program` that the flags describe.

  Raises:
    WrongUsage: environment, agent or settings cannot be had, or not together.
  """
  from programs import distributed, offline

  experiment = make_experiment(run_dir)
  run_dir_lib.write_config(run_dir, config())
  if _PROGRAM.value == 'offline':
    return offline.make_program(experiment)
  return distributed.make_program(experiment, _NUM_ACTORS.value)


def launch(run_dir: pathlib.Path, launch_type: str) -> int:
  """Runs the program to its end and says what came of it.

  Raises:
    WrongUsage: the program cannot be made.
  """
  if launch_type != 'local':
    return launch_stock(run_dir, launch_type)
  from backends import local
  from programs import roles
  from reporting import curve, summary
  from watchdog import stall

  print(f'{"run directory":<15}{run_dir}', flush=True)
  printer = roles.Printer()
  with stall.Watchdog(
    run_dir,
    _STUCK_AFTER.value,
    lambda line: printer('watchdog', 0, line),
  ):
    result = local.run(
      lambda: make_program(run_dir),
      config=roles.local_config(
        str(run_dir / 'logs'),
        (
          f'programs.agents.{_AGENT.value}',
          f'programs.environments.{_ENV.value.partition(":")[0]}',
        ),
      ),
      on_line=printer,
    )
  curve.write_learning_curve(run_dir)
  # After a failure, its cause stays the last thing printed.
  if result.cause is None:
    print(summary.summarize(run_dir, result.wall_time), flush=True)
  # Whoever interrupts a run waits for its end.
  if result.exit_code == 0:
    keep_policy(run_dir)
  return result.exit_code


def launch_stock(run_dir: pathlib.Path, launch_type: str) -> int:
  """Runs the program by one of Launchpad's own launch types."""
  import launchpad as lp

  program = make_program(run_dir)
  running = lp.launch(program, launch_type, terminal='current_terminal')
  if running is not None:
    running.wait()
  return 0


def refuse(sentence: str) -> int:
  """Says what is wrong with the command line; returns the exit code for it."""
  print(f'launch.py: {sentence}', file=sys.stderr)
  return _WRONG_USAGE


def parse_flags(argv: list[str]) -> list[str]:
  """As absl parses, but a wrong flag is one sentence and exit code 2."""
  try:
    # Ahead of the user's own, which win.
    return flags.FLAGS([argv[0], '--verbosity=-1', *argv[1:]])
  except flags.Error as e:
    sys.exit(refuse(str(e)))


def _run_dir() -> str | None:
  return _RUN_DIR.value[-1] if _RUN_DIR.value else None


def _default_run_dir() -> pathlib.Path:
  environment = _ENV.value.partition(':')[2].replace('/', '-')
  return run_dir_lib.default_path(f'{_AGENT.value}-{environment}')


if __name__ == '__main__':
  app.run(main, flags_parser=parse_flags)
