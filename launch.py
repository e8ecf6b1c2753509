"""Trains an agent as one distributed program: flags in, a run directory out.

python launch.py --num_actors=2 --agent=sac --env=gym:Pendulum-v1
"""

import contextlib
import dataclasses
import pathlib
import re
import sys

from tools import check

if __name__ == '__main__':
  check.check()

from absl import app, flags

from backends import kubernetes_manifests, slurm_script
from programs import (
  agents,
  commands,
  jobsets,
  launching,
  scale,
  submitting,
  vertex,
)
from programs import settings as settings_lib
from reporting import run_dir as run_dir_lib

_NUM_ACTORS = flags.DEFINE_integer(
  'num_actors', 2, 'Actor processes.', lower_bound=1
)
_ENVS_PER_ACTOR = flags.DEFINE_integer(
  'envs_per_actor',
  1,
  'Environments in each actor process; one call of the policy steps all.',
  lower_bound=1,
)
_AGENT = flags.DEFINE_string(
  'agent',
  'sac',
  'What learns: one that --list shows, or module:PACKAGE.MODULE.',
)
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
  upper_bound=settings_lib.MAX_SEED,
)
_SEEDS = flags.DEFINE_list(
  'seeds', [], 'A run for each of these seeds, in directories within --run_dir.'
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
_PROFILE = flags.DEFINE_bool(
  'profile',
  False,
  "Whether to time what each process does, and to trace some of the learner's "
  'steps.',
)
_STUCK_AFTER = flags.DEFINE_float(
  'stuck_after',
  60.0,
  'Seconds without a step of any actor, or of the learner, after which the run '
  'says who waits for whom.',
  lower_bound=1.0,
)
_QUIET = flags.DEFINE_bool('quiet', False, 'Print no metrics while it runs.')
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
_METRICS = flags.DEFINE_list(
  'metrics',
  ['tensorboard'],
  'Where metrics go beside the CSV files: tensorboard, jsonl, wandb, with '
  'commas between, or nothing.',
)
_SEND_METRICS = flags.DEFINE_bool(
  'send_metrics',
  False,
  'Send what --metrics lack of the run in --run_dir, and end.',
)
_EXPORT = flags.DEFINE_bool(
  'export',
  False,
  'Write the policy of the run in --run_dir, from its newest checkpoint, and '
  'end.',
)
_EVALUATE = flags.DEFINE_bool(
  'evaluate', False, 'Play the policy of the run in --run_dir, and end.'
)
_EPISODES = flags.DEFINE_integer(
  'episodes', 10, 'How many --evaluate plays.', lower_bound=1
)
_VIDEO = flags.DEFINE_string(
  'video', None, 'An mp4 file that --evaluate makes of what it plays.'
)
_LAUNCH_TYPE = flags.DEFINE_enum(
  'lp_launch_type',
  'local',
  ['local', 'local_mp', 'local_mt', 'test_mt', 'vertex_ai'],
  "How the program runs: 'local' supervises processes on this machine, the "
  "others are Launchpad's own.",
  allow_override=True,
)
_BACKEND = flags.DEFINE_enum(
  'backend',
  'local',
  ['local', 'slurm', 'kubernetes', 'ray'],
  'Where processes run: on this machine, as a job of a Slurm cluster, as a '
  'JobSet of a Kubernetes cluster, or on the nodes of a Ray cluster.',
)
_RESOURCES = flags.DEFINE_string(
  'resources',
  '',
  'What each task of a role is given: learner:gpu=1,cpu=8;actor:cpu=1.',
)
_SLURM = flags.DEFINE_string(
  'slurm',
  '',
  "sbatch's options for the job, or for a role's part of it: "
  'account=rl,time=1:00:00;learner:partition=gpu.',
)
_KUBERNETES = flags.DEFINE_string(
  'kubernetes',
  '',
  'The image, the volume and what else the run, or the pods of a role, need: '
  'image=rl:1,volume=CLAIM:/runs,namespace=rl,context=gke;replay:memory=16Gi;'
  'learner:nodeSelector.KEY=VALUE,toleration.KEY=VALUE.',
)
_RAY_ADDRESS = flags.DEFINE_string(
  'ray_address',
  'auto',
  'Of the Ray cluster, host and port; this machine is one of its nodes.',
)
_VERTEX = flags.DEFINE_string(
  'vertex',
  '',
  'With --lp_launch_type=vertex_ai, the kind of GPU: gpu=T4, which it is.',
)
_DRY_RUN = flags.DEFINE_bool(
  'dry_run',
  False,
  "Print the job's script, or the manifests, instead of submitting them.",
)
_STOP = flags.DEFINE_bool(
  'stop', False, 'Stop the run in --run_dir, wherever it runs, and end.'
)
_SCALE = flags.DEFINE_string(
  'scale',
  None,
  'Have the run in --run_dir go on with so many actors, such as actor:8, and '
  'end.',
)
_WRONG_USAGE = 2
_INTERRUPTED = 130


def main(argv: list[str]) -> int:
  """Does what the flags ask for; returns the exit code."""
  # Launchpad, once imported, defines this flag over again with its own default.
  launch_type = _LAUNCH_TYPE.value
  if _LIST.value:
    print(agents.table())
    return 0
  try:
    if (_STATUS.value or _STOP.value) and _BACKEND.value == 'kubernetes':
      act = jobsets.show_status if _STATUS.value else jobsets.stop
      return act(_run_dir(), _KUBERNETES.value)
    if _STATUS.value:
      return commands.show_status(_run_dir())
    if _STOP.value:
      return commands.stop(_run_dir())
    if _SCALE.value is not None:
      return scale.scale(_run_dir(), _SCALE.value)
    if _REPORT.value:
      named = [*(_RUN_DIR.value or ()), *argv[1:]]
      return commands.write_report(named, _REPORT_PATH.value)
    if _SEND_METRICS.value:
      return commands.send_metrics(_run_dir(), _METRICS.value)
    if _EXPORT.value:
      return commands.export_policy(_run_dir())
    if _EVALUATE.value:
      return commands.evaluate(_run_dir(), _EPISODES.value, _VIDEO.value)
    if argv[1:]:
      return refuse(f'{argv[1]!r} is no flag; see --help')
    if _SEEDS.value:
      return run_seeds(launch_type)
    return train(launch_type)
  except settings_lib.WrongUsage as e:
    return refuse(str(e))


def train(launch_type: str) -> int:
  """Runs the program that the flags describe; returns the exit code.

  Raises:
    settings_lib.WrongUsage: there is no such program.
  """
  run, place = checked(launch_type)
  run_dir = pathlib.Path(_run_dir() or _default_run_dir()).absolute()
  if launch_type == 'vertex_ai':
    vertex.check(_VERTEX.value, run_dir)
  # The volume of a Kubernetes cluster is not to be seen from here.
  if _DRY_RUN.value or place.backend == 'kubernetes':
    return submitting.submit(run, run_dir, place)
  make_run_dir(run, run_dir)
  try:
    return launch(run, run_dir, place)
  finally:
    run_dir_lib.give_back(run_dir)


def checked(
  launch_type: str,
) -> tuple[settings_lib.Settings, launching.Place]:
  """Returns what is to run, and where.

  Raises:
    settings_lib.WrongUsage: something is wrong that can be told by now.
  """
  if _VIDEO.value:
    raise settings_lib.WrongUsage('--video: --evaluate makes it; add that')
  run = settings()
  run.check()
  commands.check_sinks(_METRICS.value)
  place = launching.Place(
    _BACKEND.value,
    launch_type,
    _RESOURCES.value,
    _SLURM.value,
    _KUBERNETES.value,
    _DRY_RUN.value,
    _RAY_ADDRESS.value,
  )
  place.check()
  return run, place


def run_seeds(launch_type: str) -> int:
  """Runs what the flags describe for each of `--seeds`; returns the exit code.

  Raises:
    settings_lib.WrongUsage: there is no such program, or no such seeds.
  """
  from programs import seeds

  chosen = seeds.parse(_SEEDS.value)
  checked(launch_type)
  if _BACKEND.value != 'local':
    raise settings_lib.WrongUsage(
      '--seeds: submit the run of each seed by itself, with --seed'
    )
  if _RESUME.value:
    raise settings_lib.WrongUsage(
      '--resume with --seeds: resume the run of each seed by itself'
    )
  directory = pathlib.Path(_run_dir() or _default_run_dir()).absolute()
  return seeds.run(chosen, sys.argv[1:], _NUM_ACTORS.value, directory)


def launch(
  run: settings_lib.Settings, run_dir: pathlib.Path, place: launching.Place
) -> int:
  """Has the run begin where it is to be; returns the exit code."""
  watch = launching.Watch(_STUCK_AFTER.value, _QUIET.value, _METRICS.value)
  if place.launch_type == 'vertex_ai':
    given = place.resources_by_role()
    return vertex.submit(run, run_dir, given, _VERTEX.value)
  if place.launch_type != 'local':
    return launching.run_stock(run, run_dir, place.launch_type, watch)
  if place.backend == 'slurm' and not slurm_script.in_job():
    return submitting.submit(run, run_dir, place)
  return launching.run(run, run_dir, place, watch)


def settings() -> settings_lib.Settings:
  """Returns what the flags say of the run.

  Of a run that is resumed, what they leave out is as it was.
  """
  kept = {}
  if _RESUME.value and _run_dir():
    # What is wrong with it, `make_run_dir` says.
    with contextlib.suppress(OSError, ValueError):
      kept = run_dir_lib.read_config(pathlib.Path(_run_dir()))
  values = {
    name: kept[name]
    if name in kept and not flags.FLAGS[name].present
    else flags.FLAGS[name].value
    for name in settings_lib.NAMES
  }
  return settings_lib.make_settings(values)


def make_run_dir(run: settings_lib.Settings, run_dir: pathlib.Path) -> None:
  """Makes the run directory, or checks the one to go on with.

  Raises:
    settings_lib.WrongUsage: it cannot be made, or is another run's.
  """
  if _RESUME.value and not _run_dir():
    raise settings_lib.WrongUsage('--resume: say which run with --run_dir')
  in_pod = kubernetes_manifests.in_launcher()
  # A pod has the same command at its first start and at each later one.
  begins = in_pod and not run_dir_lib.holds_run(run_dir)
  try:
    if _RESUME.value and not begins:
      run_dir_lib.check_resume(run_dir, dataclasses.asdict(run))
      launching.check_not_running(run_dir)
    else:
      run_dir_lib.create(run_dir)
    # Kubernetes has one such pod at a time, and a volume may know the lock of
    # one whose node was lost for longer than that.
    if not in_pod and (_BACKEND.value != 'slurm' or slurm_script.in_job()):
      run_dir_lib.take(run_dir)
  except (OSError, ValueError) as e:
    raise settings_lib.WrongUsage(f'--run_dir: {e}') from e


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
  agent = _AGENT.value.removeprefix('module:')
  environment = re.sub('[/:]', '-', _ENV.value.partition(':')[2])
  return run_dir_lib.default_path(f'{agent}-{environment}')


if __name__ == '__main__':
  try:
    app.run(main, flags_parser=parse_flags)
  except KeyboardInterrupt:
    # Before there was a run that could have stopped by itself.
    sys.exit(_INTERRUPTED)
