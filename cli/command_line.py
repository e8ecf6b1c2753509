"""The flags of `launch.py`."""

from absl import flags

from backends import registry
from cli import settings as settings_lib

NUM_ACTORS = flags.DEFINE_integer(
  'num_actors', 2, 'Actor processes.', lower_bound=1
)
ENVS_PER_ACTOR = flags.DEFINE_integer(
  'envs_per_actor',
  1,
  'Environments in each actor process; one call of the policy steps all.',
  lower_bound=1,
)
AGENT = flags.DEFINE_string(
  'agent',
  'sac',
  'What learns: one that --list shows, or module:PACKAGE.MODULE.',
)
ENV = flags.DEFINE_string(
  'env', 'gym:Pendulum-v1', 'Where it acts, such as gym:ID for Gymnasium.'
)
CONFIG = flags.DEFINE_string(
  'config',
  '',
  "The agent's settings that are not its defaults, such as "
  'learning_rate=3e-4,batch_size=64.',
)
PROGRAM = flags.DEFINE_enum(
  'program',
  'distributed',
  ['distributed', 'offline'],
  "What runs: 'distributed' has actors, 'offline' learns from "
  '--demonstrations alone.',
)
DEMONSTRATIONS = flags.DEFINE_string(
  'demonstrations',
  None,
  'The directory of a run with --record, or minari:ID, for an agent to imitate '
  'or to learn from.',
)
RECORD = flags.DEFINE_bool(
  'record', False, 'Whether to keep every episode in the run directory.'
)
LIST = flags.DEFINE_bool('list', False, 'Show what --agent knows, and end.')
EVALUATIONS = flags.DEFINE_string(
  'evaluations',
  '3s',
  'When to evaluate, for one evaluator each: 30s, 1000steps of the learner, or '
  '1000steps*5 for five episodes; with commas between.',
)
NUM_STEPS = flags.DEFINE_integer(
  'num_steps',
  8_000,
  'Environment steps, of all actors together, after which the run ends; '
  "steps of the learner with --program='offline'.",
  lower_bound=1,
)
SEED = flags.DEFINE_integer(
  'seed',
  0,
  'Every random number of the run derives from it.',
  lower_bound=0,
  upper_bound=settings_lib.MAX_SEED,
)
SEEDS = flags.DEFINE_list(
  'seeds', [], 'A run for each of these seeds, in directories within --run_dir.'
)
RUN_DIR = flags.DEFINE_multi_string(
  'run_dir',
  None,
  'Where configuration, metrics, checkpoints and figures go. '
  'Default: a new folder in runs/. Of several the last counts, but with '
  '--report each.',
)
RESUME = flags.DEFINE_bool('resume', False, 'Go on with the run in --run_dir.')
CHECKPOINT_EVERY = flags.DEFINE_float(
  'checkpoint_every', 30.0, 'Seconds between checkpoints.', lower_bound=0.0
)
CHECKPOINT_REPLAY = flags.DEFINE_bool(
  'checkpoint_replay', False, 'Whether checkpoints keep replay as well.'
)
PROFILE = flags.DEFINE_bool(
  'profile',
  False,
  "Whether to time what each process does, and to trace some of the learner's "
  'steps.',
)
NON_FINITE = flags.DEFINE_enum(
  'non_finite',
  'stop',
  ['stop', 'continue'],
  'What a NaN or an infinity in an observation, reward, action or weight does: '
  "'stop' ends the run, 'continue' leaves it out.",
)
STUCK_AFTER = flags.DEFINE_float(
  'stuck_after',
  60.0,
  'Seconds without a step of any actor, or of the learner, after which the run '
  'says who waits for whom.',
  lower_bound=1.0,
)
QUIET = flags.DEFINE_bool('quiet', False, 'Print no metrics while it runs.')
STATUS = flags.DEFINE_bool(
  'status', False, 'Show what the run in --run_dir is doing, and end.'
)
REPORT = flags.DEFINE_bool(
  'report',
  False,
  'Write a page that compares the runs in --run_dir=A --run_dir=B or '
  '--run_dir=A,B, and end.',
)
REPORT_PATH = flags.DEFINE_string(
  'report_path', None, 'Of the page. Default: report.html in the first run.'
)
METRICS = flags.DEFINE_list(
  'metrics',
  ['tensorboard'],
  'Where metrics go beside the CSV files: tensorboard, jsonl, wandb, with '
  'commas between, or nothing.',
)
SEND_METRICS = flags.DEFINE_bool(
  'send_metrics',
  False,
  'Send what --metrics lack of the run in --run_dir, and end.',
)
EXPORT = flags.DEFINE_bool(
  'export',
  False,
  'Write the policy of the run in --run_dir, from its newest checkpoint, and '
  'end.',
)
EVALUATE = flags.DEFINE_bool(
  'evaluate', False, 'Play the policy of the run in --run_dir, and end.'
)
EPISODES = flags.DEFINE_integer(
  'episodes', 10, 'How many --evaluate plays.', lower_bound=1
)
VIDEO = flags.DEFINE_string(
  'video', None, 'An mp4 file that --evaluate makes of what it plays.'
)
LAUNCH_TYPE = flags.DEFINE_enum(
  'lp_launch_type',
  registry.SUPERVISED,
  registry.launch_types(),
  "How the program runs: 'local' supervises processes on this machine, the "
  "others are Launchpad's own.",
  allow_override=True,
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
  'What each task of a role is given: learner:gpu=1,cpu=8;actor:cpu=1.',
)
_DEFINE = {bool: flags.DEFINE_bool, str: flags.DEFINE_string}
OF_BACKENDS = [_DEFINE[type(each.default)](*each) for each in registry.flags()]
DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  "Print the job's script, or the manifests, instead of submitting them.",
)
STOP = flags.DEFINE_bool(
  'stop', False, 'Stop the run in --run_dir, wherever it runs, and end.'
)
SCALE = flags.DEFINE_string(
  'scale',
  None,
  'Have the run in --run_dir go on with so many actors, such as actor:8, and '
  'end.',
)
