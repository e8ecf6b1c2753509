"""Trains an agent as one distributed program of many processes.

The run leaves configuration, metrics, checkpoints and the policy in its run
directory.
"""

import argparse
import contextlib
import pathlib
import re
import sys

from absl import flags

from backends import registry
from cli import launching, metric_sinks, seeds, training_flags, watching
from cli import settings as settings_lib
from cli.settings import WrongUsage
from run_files import damage
from run_files import run_dir as run_dir_lib


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.usage = f'{parser.prog} [FLAGS], or the flags without a verb'
  for title, described in training_flags.GROUPS.items():
    group = parser.add_argument_group(title)
    training_flags.describe(group, described)


def run(arguments: argparse.Namespace) -> int:
  """Runs what the flags describe; returns the exit code.

  Raises:
    WrongUsage: a flag is wrong, or no such program can be made.
  """
  del arguments  # absl has parsed the flags.
  # Read first, since Launchpad redefines a flag of it when it is imported.
  choice = _choice()
  if training_flags.SEEDS.value:
    return _run_seeds(choice)
  settings = _checked_settings()
  if training_flags.RESUME.value and not training_flags.RUN_DIR.value:
    raise WrongUsage('--resume: say which run with --run_dir')
  watch = watching.Watch(
    training_flags.STUCK_AFTER.value,
    training_flags.QUIET.value,
    training_flags.METRICS.value,
  )
  resume = training_flags.RESUME.value
  return launching.train(settings, _run_dir(), choice, watch, resume)


def _run_seeds(choice: registry.Choice) -> int:
  """Runs what the flags describe for each of `--seeds`; returns the exit code.

  Raises:
    WrongUsage: a flag is wrong, or `--seeds` is.
  """
  chosen = seeds.parse(training_flags.SEEDS.value)
  _checked_settings()
  if not registry.make(choice).USES_THIS_MACHINE:
    raise WrongUsage(
      '--seeds: submit the run of each seed by itself, with --seed'
    )
  if training_flags.RESUME.value:
    raise WrongUsage(
      '--resume with --seeds: resume the run of each seed by itself'
    )
  num_actors = training_flags.NUM_ACTORS.value
  return seeds.run(chosen, sys.argv[1:], num_actors, _run_dir())


def _choice() -> registry.Choice:
  """Returns the backend and its options, as the flags say."""
  return registry.Choice(
    training_flags.BACKEND.value,
    training_flags.LAUNCH_TYPE.value,
    training_flags.RESOURCES.value,
    training_flags.DRY_RUN.value,
    {each.name: each.value for each in training_flags.OF_BACKENDS},
  )


def _checked_settings() -> settings_lib.Settings:
  """Returns the flags' values that describe the run, once they are checked.

  Raises:
    WrongUsage: a flag is wrong. Some flags can only be checked later, when the
      program is made.
  """
  settings = _settings()
  settings.check()
  metric_sinks.check(training_flags.METRICS.value)
  return settings


def _settings() -> settings_lib.Settings:
  """Returns the flags' values that describe the run.

  When a run is resumed, a flag that is left out keeps its value.
  """
  kept = {}
  if training_flags.RESUME.value and training_flags.RUN_DIR.value:
    # `launching.train` says what is wrong with the directory.
    with contextlib.suppress(OSError, damage.DamagedError):
      kept = run_dir_lib.read_config(_run_dir())
  values = {
    name: kept[name]
    if name in kept and not flags.FLAGS[name].present
    else flags.FLAGS[name].value
    for name in settings_lib.NAMES
  }
  return settings_lib.make_settings(values)


def _run_dir() -> pathlib.Path:
  """Returns the absolute path of the run directory, a new one by default."""
  if training_flags.RUN_DIR.value:
    return pathlib.Path(training_flags.RUN_DIR.value).absolute()
  agent = training_flags.AGENT.value.removeprefix('module:')
  _, _, environment = training_flags.ENV.value.partition(':')
  environment = re.sub('[/:]', '-', environment)
  return run_dir_lib.default_path(f'{agent}-{environment}').absolute()
