"""Measures what each agent learns: its return at the start and at the end.

  python -m benchmarks.learn [--seeds=0,1,2] [--only=sac,dqn]

There is no peer: the figures are returns of known environments.

It runs `launch.py` for each agent, environment and seed, one after the other.
Agents that imitate learn from the episodes that SAC's run of the same seed has
recorded. With --only, that run must be in the folder of --runs.
"""

import csv
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple

from absl import app, flags

from reporting import curve, summary

_SEEDS = flags.DEFINE_list('seeds', ['0', '1', '2'], 'Seeds, one run for each.')
_ONLY = flags.DEFINE_list('only', [], 'Agents to run. Empty: all.')
_CSV = flags.DEFINE_string('csv', None, 'File that gets the table.')
_RUNS = flags.DEFINE_string(
  'runs', None, 'Folder that keeps the runs. Empty: they are removed.'
)
_TIMEOUT = 1800.0
_ROOT = pathlib.Path(__file__).parents[1]

_PENDULUM = 'gym:Pendulum-v1'
_CATCH = 'bsuite:catch/0'


class Case(NamedTuple):
  """One agent in one environment.

  Attributes:
    agent: the value of --agent.
    env: the value of --env.
    num_steps: the value of --num_steps: steps of all actors together, or of the
      learner in the offline program.
    config: the value of --config: settings that this environment needs.
    flags: further flags of `launch.py`.
  """

  agent: str
  env: str
  num_steps: int
  config: str = ''
  flags: tuple[str, ...] = ()


_TEACHER = Case('sac', _PENDULUM, 8_000, flags=('--record',))
_CASES = (
  _TEACHER,
  Case('td3', _PENDULUM, 8_000),
  Case('d4pg', _PENDULUM, 8_000),
  Case('ppo', 'gym:CartPole-v1', 60_000, 'learning_rate=1e-3'),
  Case(
    'ppo',
    _PENDULUM,
    150_000,
    'learning_rate=1e-3,discount=0.9,batch_size=32,num_epochs=10',
    flags=('--envs_per_actor=8',),
  ),
  Case('dqn', _CATCH, 6_000),
  Case('ddqn', _CATCH, 6_000),
  Case('r2d2', _CATCH, 10_000),
  Case('impala', _CATCH, 80_000),
  Case('bc', _PENDULUM, 20_000, flags=('--program=offline',)),
  Case(
    'value_dice',
    _PENDULUM,
    30_000,
    'discount=0.9',
    flags=('--program=offline',),
  ),
  Case('ail', _PENDULUM, 8_000),
)
_IMITATORS = ('bc', 'value_dice', 'ail')


class Row(NamedTuple):
  """One run.

  Attributes:
    agent: the value of --agent.
    env: the value of --env.
    seed: the value of --seed.
    start_return: the return of the first evaluation.
    end_return: the mean return of the last five evaluations.
    steps: steps of all actors together, or of the learner in the offline
      program.
    minutes: minutes from the start of the command to its end.
  """

  agent: str
  env: str
  seed: int
  start_return: float
  end_return: float
  steps: int
  minutes: float


def run(case: Case, seed: int, runs: pathlib.Path) -> Row:
  """Runs one case.

  Args:
    case: what to run.
    seed: the run's seed.
    runs: the folder in which the run directory is made.

  Raises:
    subprocess.CalledProcessError: the run failed; its output says why.
    subprocess.TimeoutExpired: the run did not end in time.
  """
  run_dir = _run_dir(case, seed, runs)
  command = [
    *(sys.executable, 'launch.py', f'--agent={case.agent}'),
    *(f'--env={case.env}', f'--num_steps={case.num_steps}', f'--seed={seed}'),
    *(f'--config={case.config}', f'--run_dir={run_dir}', *case.flags),
  ]
  if case.agent in _IMITATORS:
    command.append(f'--demonstrations={_run_dir(_TEACHER, seed, runs)}')
  began = time.monotonic()
  with open(f'{run_dir}.output', 'w') as output:
    subprocess.run(
      command,
      cwd=_ROOT,
      stdin=subprocess.DEVNULL,
      stdout=output,
      stderr=subprocess.STDOUT,
      timeout=_TIMEOUT,
      check=True,
    )
  minutes = (time.monotonic() - began) / 60
  steps, returns = curve.evaluations(run_dir)
  return Row(
    case.agent,
    case.env,
    seed,
    float(returns[0]),
    summary.final_return(run_dir),
    int(steps[-1]),
    minutes,
  )


def _run_dir(case: Case, seed: int, runs: pathlib.Path) -> pathlib.Path:
  return runs / f'{case.agent}-{case.env.replace("/", "-")}-{seed}'


def run_all(runs: pathlib.Path) -> Iterator[Row]:
  """Yields a row for each run, as it ends."""
  for case in _CASES:
    wanted = not _ONLY.value or case.agent in _ONLY.value
    for seed in map(int, _SEEDS.value):
      if wanted:
        yield run(case, seed, runs)


def main(_) -> None:
  """Prints a row for each run."""
  with tempfile.TemporaryDirectory() as temporary:
    runs = pathlib.Path(_RUNS.value or temporary)
    runs.mkdir(parents=True, exist_ok=True)
    print(_line(*Row._fields), flush=True)
    rows = []
    for row in run_all(runs):
      rows.append(row)
      print(
        _line(
          *row[:3],
          f'{row.start_return:,.1f}',
          f'{row.end_return:,.1f}',
          f'{row.steps:,}',
          f'{row.minutes:.1f}',
        ),
        flush=True,
      )
  if _CSV.value:
    with open(_CSV.value, 'w', newline='') as f:
      csv.writer(f).writerows([Row._fields, *rows])


def _line(agent, env, *cells) -> str:
  return f'{agent:<12}{env:<18}' + ''.join(f'{cell:>14}' for cell in cells)


if __name__ == '__main__':
  app.run(main)
