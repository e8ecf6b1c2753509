"""Trains an agent as one distributed program: flags in, a run directory out.

  python launch.py --num_actors=2 --agent=sac --env=gym:Pendulum-v1
"""

import pathlib
import sys
import time

from tools import check

if __name__ == '__main__':
  check.check()

from absl import app, flags  # noqa: E402

from programs import agents  # noqa: E402
from reporting import run_dir as run_dir_lib  # noqa: E402

_NUM_ACTORS = flags.DEFINE_integer(
  'num_actors', 2, 'Actor processes.', lower_bound=1
)
_AGENT = flags.DEFINE_enum('agent', 'sac', agents.AGENTS, 'What learns.')
_ENV = flags.DEFINE_string(
  'env', 'gym:Pendulum-v1', 'Where it acts, such as gym:ID for Gymnasium.'
)
_NUM_STEPS = flags.DEFINE_integer(
  'num_steps',
  10_000,
  'Environment steps, of all actors together, after which the run ends.',
  lower_bound=1,
)
_SEED = flags.DEFINE_integer(
  'seed',
  0,
  'Every random number of the run derives from it.',
  lower_bound=0,
  upper_bound=2**31 - 1,
)
_RUN_DIR = flags.DEFINE_string(
  'run_dir',
  None,
  'Where configuration, metrics, checkpoints and figures go. '
  'Default: a new folder in runs/.',
)
_RESUME = flags.DEFINE_bool('resume', False, 'Go on with the run in --run_dir.')
_CHECKPOINT_EVERY = flags.DEFINE_float(
  'checkpoint_every', 60.0, 'Seconds between checkpoints.', lower_bound=0.0
)
_LAUNCH_TYPE = flags.DEFINE_enum(
  'lp_launch_type',
  'local',
  ['local', 'local_mp', 'local_mt', 'test_mt', 'vertex_ai'],
  "How the program runs: 'local' supervises processes on this machine, the "
  "others are Launchpad's own.",
  allow_override=True,
)


def make_experiment(run_dir: pathlib.Path):
  """Returns the `programs.experiment.ExperimentConfig` that the flags describe.

  Raises:
    ValueError: the agent cannot act in the environment.
  """
  # Imported late: Acme takes seconds, and a wrong flag should not.
  from acme import specs

  from nodes import checkpoint
  from programs import environments, experiment
  from reporting import loggers

  environment_factory = environments.make_environment_factory(_ENV.value)
  environment = environment_factory(_SEED.value)
  spec = specs.make_environment_spec(environment)
  environment.close()
  parts = agents.make_agent(_AGENT.value, spec)
  return experiment.ExperimentConfig(
    builder=parts.builder,
    network_factory=parts.network_factory,
    environment_factory=environment_factory,
    max_num_actor_steps=_NUM_STEPS.value,
    seed=_SEED.value,
    policy_factory=parts.policy_factory,
    eval_policy_factory=parts.eval_policy_factory,
    environment_spec=spec,
    logger_factory=loggers.logger_factory(str(run_dir)),
    checkpointing=checkpoint.CheckpointingConfig(
      str(run_dir / 'checkpoints'), _CHECKPOINT_EVERY.value
    ),
    variable_names=parts.variable_names,
  )
