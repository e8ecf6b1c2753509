"""The flags of training, in the groups that `launch.py train --help` shows."""

import argparse
from collections.abc import Sequence

from absl import flags

from backends import registry
from cli import settings

_METAVARS = {'int': 'N', 'float': 'SECONDS'}

AGENT = flags.DEFINE_string(
  'agent',
  'sac',
  'The agent: one that the verb `list` shows, or your own as '
  'module:PACKAGE.MODULE.',
)
ENV = flags.DEFINE_string(
  'env',
  'gym:Pendulum-v1',
  'The environment, such as gym:ID for one of Gymnasium, or your own as '
  'module:PACKAGE.MODULE:FUNCTION.',
)
CONFIG = flags.DEFINE_string(
  'config',
  '',
  "The agent's settings that differ from its defaults, such as "
  'learning_rate=3e-4,batch_size=64.',
)
PROGRAM = flags.DEFINE_enum(
  'program',
  'distributed',
  ['distributed', 'offline'],
  "The program: 'distributed' has actors; 'offline' has none and learns only "
  'from --demonstrations.',
)
DEMONSTRATIONS = flags.DEFINE_string(
  'demonstrations',
  None,
  'The episodes that an agent imitates or learns from: the directory of a run '
  'with --record, or a dataset as minari:ID.',
)
NUM_STEPS = flags.DEFINE_integer(
  'num_steps',
  8_000,
  'Environment steps, of all actors together, after which the run ends; with '
  "--program=offline, the learner's steps.",
  lower_bound=1,
)
SEED = flags.DEFINE_integer(
  'seed',
  0,
  'The seed from which every random number of the run derives.',
  lower_bound=0,
  upper_bound=settings.MAX_SEED,
)
SEEDS = flags.DEFINE_list(
  'seeds',
  [],
  'Several seeds, such as 0,1,2. Each gets a run, in a folder of --run_dir, '
  'and a report compares the runs.',
)

NUM_ACTORS = flags.DEFINE_integer(
  'num_actors', 2, 'The number of actor processes.', lower_bound=1
)
ENVS_PER_ACTOR = flags.DEFINE_integer(
  'envs_per_actor',
  1,
  'The number of environments in each actor process. One call of the policy '
  'chooses the actions for all of them.',
  lower_bound=1,
)
EVALUATIONS = flags.DEFINE_string(
  'evaluations',
  '3s',
  'When to evaluate: 30s is every 30 seconds, 1000steps is every 1000 steps of '
  'the learner, and 1000steps*5 plays five episodes each time. Of several '
  'schedules, with commas between, each gets its own evaluator.',
)

RUN_DIR = flags.DEFINE_string(
  'run_dir',
  None,
  'The directory for configuration, metrics, checkpoints and figures; a new '
  'folder in runs/ if you name none.',
)
RESUME = flags.DEFINE_bool(
  'resume',
  False,
  'Go on with the run in --run_dir. A flag that you leave out keeps the value '
  'that it has there.',
)
CHECKPOINT_EVERY = flags.DEFINE_float(
  'checkpoint_every', 30.0, 'Seconds between checkpoints.', lower_bound=0.0
)
CHECKPOINT_REPLAY = flags.DEFINE_bool(
  'checkpoint_replay', False, 'Save the replay tables in checkpoints, too.'
)
RECORD = flags.DEFINE_bool(
  'record', False, 'Save every episode in the run directory.'
)

METRICS = flags.DEFINE_list(
  'metrics',
  ['tensorboard'],
  'Where metrics go besides the CSV files: any of tensorboard, jsonl and '
  'wandb, with commas between, or nothing.',
)
QUIET = flags.DEFINE_bool(
  'quiet', False, 'Print no metrics while the run goes on.'
)
STUCK_AFTER = flags.DEFINE_float(
  'stuck_after',
  60.0,
  'Seconds without a step of any actor, or of the learner, after which the run '
  'says which process waits for which.',
  lower_bound=1.0,
)
NON_FINITE = flags.DEFINE_enum(
  'non_finite',
  'stop',
  ['stop', 'continue'],
  'What a NaN or an infinity in an observation, reward, action or weight does: '
  "'stop' ends the run, 'continue' leaves out the episode or the weights.",
)
PROFILE = flags.DEFINE_bool(
  'profile',
  False,
  "Time what each process does, and trace some of the learner's steps.",
)

BACKEND = flags.DEFINE_enum(
  'backend',
  registry.DEFAULT,
  registry.names(),
  'Where processes run: on this machine, as a job of a Slurm cluster, as a '
  'JobSet of a Kubernetes cluster, or on the nodes of a Ray cluster.',
)
RESOURCES = flags.DEFINE_string(
  'resources',
  '',
  'The resources of each task of a role, such as '
  'learner:gpu=1,cpu=8;actor:cpu=1.',
)
DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  'Print the script of the Slurm job, or the manifests for Kubernetes, instead '
  'of submitting them.',
)
LAUNCH_TYPE = flags.DEFINE_enum(
  'lp_launch_type',
  registry.SUPERVISED,
  registry.launch_types(),
  "How Launchpad runs the program: with 'local', this program starts and "
  'supervises the processes, where --backend says; the others are '
  "Launchpad's own launchers.",
  allow_override=True,
)
_DEFINE = {bool: flags.DEFINE_bool, str: flags.DEFINE_string}
OF_BACKENDS = [_DEFINE[type(each.default)](*each) for each in registry.flags()]


def _flags(*holders: flags.FlagHolder) -> tuple[flags.Flag, ...]:
  # Looked up now, since Launchpad redefines one of them when it is imported.
  return tuple(flags.FLAGS[holder.name] for holder in holders)


GROUPS = {
  'what is trained': _flags(
    *(AGENT, ENV, CONFIG, PROGRAM, DEMONSTRATIONS, NUM_STEPS, SEED, SEEDS),
  ),
  'actors and evaluators': _flags(NUM_ACTORS, ENVS_PER_ACTOR, EVALUATIONS),
  'the run directory': _flags(
    *(RUN_DIR, RESUME, CHECKPOINT_EVERY, CHECKPOINT_REPLAY, RECORD),
  ),
  'watching a run': _flags(METRICS, QUIET, STUCK_AFTER, NON_FINITE, PROFILE),
  'where it runs': _flags(
    *(BACKEND, RESOURCES, DRY_RUN, LAUNCH_TYPE, *OF_BACKENDS),
  ),
}
MOST_USED = _flags(
  *(AGENT, ENV, CONFIG, NUM_ACTORS, ENVS_PER_ACTOR, NUM_STEPS, SEED, SEEDS),
  *(RUN_DIR, RESUME, METRICS, BACKEND),
)


def describe(
  parser: argparse.ArgumentParser, described: Sequence[flags.Flag]
) -> None:
  """Adds flags to what `--help` shows; absl parses them.

  Args:
    parser: an argparse parser, or a group of one.
    described: the flags.
  """
  for flag in described:
    options = {'help': flag.help, 'metavar': _METAVARS.get(flag.flag_type())}
    if flag.boolean:
      options = {'help': flag.help, 'action': 'store_true'}
    elif isinstance(flag, flags.EnumFlag):
      options['choices'] = flag.parser.enum_values
      # absl puts the choices in front.
      options['help'] = flag.help.partition('>: ')[2]
    if flag.default not in (None, '', []) and not flag.boolean:
      options['help'] += f' Default: {flag.default_as_str.strip(chr(39))}.'
    options['help'] = options['help'].replace('%', '%%')
    parser.add_argument(f'--{flag.name}', **options)
