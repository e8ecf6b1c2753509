"""Reads a command line, runs its verb, and prints errors as sentences.

Each verb has a line in `VERBS` and a module in `cli/verbs/`. The module is
imported when its verb is typed, and has two functions:

  add_arguments(parser): adds the verb's arguments and flags to an argparse
    parser
  run(arguments) -> int: does what the verb says, and returns the exit code

If no verb is typed, the verb is `train`. absl parses the flags of training,
since Launchpad, JAX and Acme define their flags with absl.
"""

import argparse
import difflib
import errno
import functools
import importlib
import os
import pathlib
import sys
import types
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from absl import flags

from backends import api
from cli.settings import WrongUsage
from programs import own_modules
from run_files import damage, screen

VERBS = {
  'train': 'train an agent; this is the verb if you type none',
  'status': 'show what a run is doing, and who waits for whom',
  'stop': 'stop a run, and wait until it has ended',
  'scale': 'change the number of actors of a run that goes on',
  'report': 'write a page that compares runs',
  'export': "write a run's policy, from its newest checkpoint",
  'evaluate': "play a run's policy, and film it",
  'send-metrics': "send a run's metrics to TensorBoard, a file or W&B",
  'list': 'list the agents, and what each acts in and learns from',
  'doctor': 'say what is wrong with this machine or its packages',
}
_TRAIN = 'train'
# Flags that a person may try, and the verbs to type instead.
_VERB_OF_FLAG = {
  **{verb.replace('-', '_'): verb for verb in VERBS if verb != _TRAIN},
  'episodes': 'evaluate',
  'video': 'evaluate',
  'report_path': 'report',
}
_HELP = {'-h', '-help', '--help'}
_FAILED = 1
_WRONG_USAGE = 2


class Command(NamedTuple):
  """What a command line asks for.

  Attributes:
    act: a function that does it and returns the exit code.
    run_dirs: the run directories that the command line names.
  """

  act: Callable[[], int]
  run_dirs: Sequence[str]


def parse(argv: Sequence[str]) -> Command:
  """Returns what a command line asks for.

  Args:
    argv: the words of the command line; the first is the program's name.

  Raises:
    SystemExit: the help was printed, or the command line is wrong and one
      sentence was printed that says why.
  """
  program, words = pathlib.Path(argv[0]).name, argv[1:]
  try:
    if words and not words[0].startswith('-'):
      return _parse_verb(program, words[0], words[1:])
    if _HELP.intersection(words):
      _show_overview(program)
    return _parse_verb(program, _TRAIN, words)
  except WrongUsage as e:
    sys.exit(_refuse(str(e), _WRONG_USAGE))


def run(command: Command) -> int:
  """Does what a command line asks for; returns the exit code.

  An error that a user can mend is printed as one sentence on standard error.
  """
  try:
    return command.act()
  except (WrongUsage, api.RefusedError) as e:
    return _refuse(str(e), _WRONG_USAGE)
  except damage.DamagedError as e:
    return _refuse(str(e), _FAILED)
  except OSError as e:
    if not _is_about_storage(e, command.run_dirs):
      raise
    return _refuse(str(e), _FAILED)
  except own_modules.OwnCodeError as e:
    screen.show(e.traceback(), file=sys.stderr)
    return _refuse(str(e), _FAILED)


def _parse_verb(program: str, name: str, words: Sequence[str]) -> Command:
  if name not in VERBS:
    raise WrongUsage(_no_verb(program, name))
  verb = importlib.import_module(f'cli.verbs.{name.replace("-", "_")}')
  parser = _make_parser(f'{program} {name}', verb)
  if name == _TRAIN:
    if _HELP.intersection(words):
      parser.print_help()
      sys.exit()
    arguments = _parse_training(program, words)
  else:
    # Libraries read absl's flags. At this verbosity they log only warnings.
    flags.FLAGS([program, '--verbosity=-1'])
    arguments = parser.parse_args(words)
  named = getattr(arguments, 'run_dir', None) or ()
  run_dirs = (named,) if isinstance(named, str) else named
  return Command(functools.partial(verb.run, arguments), run_dirs)


class _Parser(argparse.ArgumentParser):
  """A parser whose errors are one sentence, without the usage."""

  def error(self, message: str) -> NoReturn:
    raise WrongUsage(f'{message}; see {self.prog} --help')


def _make_parser(prog: str, verb: types.ModuleType) -> _Parser:
  parser = _Parser(prog=prog, description=verb.__doc__, allow_abbrev=False)
  verb.add_arguments(parser)
  return parser


def _parse_training(program: str, words: Sequence[str]) -> argparse.Namespace:
  """Has absl parse the flags of training; returns the run's directory."""
  try:
    # This verbosity is a default: if the user types another, the last counts.
    left = flags.FLAGS([program, '--verbosity=-1', *words])[1:]
  except flags.UnrecognizedFlagError as e:
    if e.flagname not in _VERB_OF_FLAG:
      raise WrongUsage(str(e)) from e
    verb = _VERB_OF_FLAG[e.flagname]
    raise WrongUsage(
      f'--{e.flagname} is not a flag of training; type '
      f'`python launch.py {verb}`, and see its --help'
    ) from e
  except flags.Error as e:
    raise WrongUsage(str(e)) from e
  if left:
    way = 'type a verb before flags' if left[0] in VERBS else 'see --help'
    raise WrongUsage(f'{left[0]!r} is not a flag; {way}')
  return argparse.Namespace(run_dir=flags.FLAGS['run_dir'].value)


def _no_verb(program: str, word: str) -> str:
  """Returns the message about a word that is not a verb."""
  if nearest := difflib.get_close_matches(word, VERBS, 1):
    return f'there is no verb {word!r}; the nearest is {nearest[0]!r}'
  if os.path.isdir(word):
    return (
      f'{word!r} is a directory; say what to do with it, as in '
      f'`{program} status {word}`'
    )
  return f'there is no verb {word!r}; the verbs are {", ".join(VERBS)}'


def _show_overview(program: str) -> NoReturn:
  """Prints the verbs and the flags that people use most, and exits."""
  from cli import training_flags

  parser = argparse.ArgumentParser(
    prog=program,
    usage=f'{program} [FLAGS]\n       {program} VERB [ARGUMENTS]',
    description=(
      'Trains an agent as one distributed program of many processes, or does '
      'what a verb says.'
    ),
    epilog=(
      f'`{program} VERB --help` says how a verb is used, and `{program} train '
      '--help` lists all flags of training.'
    ),
    add_help=False,
  )
  verbs = parser.add_argument_group('verbs')
  for verb, text in VERBS.items():
    verbs.add_argument(verb, help=text)
  group = parser.add_argument_group('flags of training that people use most')
  training_flags.describe(group, training_flags.MOST_USED)
  parser.print_help()
  sys.exit()


def _refuse(sentence: str, exit_code: int) -> int:
  """Prints what is wrong; returns the exit code."""
  screen.show(f'launch.py: {sentence}', file=sys.stderr)
  return exit_code


def _is_about_storage(error: OSError, run_dirs: Sequence[str]) -> bool:
  """Whether a disk is full, or a file of a run directory cannot be used."""
  if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
    return True
  if not isinstance(error.filename, str):
    return False
  path = os.path.abspath(error.filename)
  return any(path.startswith(os.path.abspath(each)) for each in run_dirs)
