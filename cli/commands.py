"""What `launch.py` does with runs that are there; each returns an exit code."""

import contextlib
import os
import pathlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from cli import settings
from cli.settings import WrongUsage
from reporting import sinks
from reporting.sinks import followers
from run_files import damage, screen
from run_files import run_dir as run_dir_lib

_POLICY = 'policy'
# Nobody waits for it but who asked.
_SEND_SECONDS = 600


def write_report(named: Sequence[str], path: str | None) -> int:
  """Writes the page that compares runs.

  Args:
    named: their directories, several in one text with commas between.
    path: of the page; None is in the first directory.

  Raises:
    WrongUsage: one of them is none, or the page cannot be written.
  """
  from reporting import report

  run_dirs = []
  for run_dir in filter(None, named):
    # The name of a directory may have commas.
    is_one = pathlib.Path(run_dir).exists()
    run_dirs += [run_dir] if is_one else filter(None, run_dir.split(','))
  if not run_dirs:
    raise WrongUsage('--report: say of which runs with --run_dir')
  # A shell's runs/* names whatever is there.
  if holding := [path for path in run_dirs if run_dir_lib.holds_run(path)]:
    for run_dir in filter(lambda each: each not in holding, run_dirs):
      screen.show(f'launch.py: left out {run_dir}, no run', file=sys.stderr)
    run_dirs = holding
  try:
    screen.show(report.write(run_dirs, path))
  except (OSError, ValueError) as e:
    raise WrongUsage(f'--report: {e}') from e
  return 0


def _read(
  run_dir: str | None, flag: str
) -> tuple[pathlib.Path, settings.Settings]:
  """Returns a run's directory and settings; `WrongUsage` if there is none."""
  if not run_dir:
    raise WrongUsage(f'--{flag}: say of which run with --run_dir')
  path = pathlib.Path(run_dir).absolute()
  try:
    return path, settings.make_settings(run_dir_lib.read_config(path))
  except FileNotFoundError as e:
    raise WrongUsage(f'--run_dir: {e}') from e
  except TypeError as e:
    raise WrongUsage(
      f'--run_dir: {path} holds a run of another version of this repository '
      f'({e})'
    ) from e


def check_sinks(names: Sequence[str]) -> None:
  """Raises `WrongUsage` unless there are sinks of metrics of these names."""
  try:
    sinks.check(names)
  except ValueError as e:
    raise WrongUsage(f'--metrics: {e}') from e


def send_metrics(run_dir: str | None, names: Sequence[str]) -> int:
  """Sends what sinks of metrics lack of a run.

  Raises:
    WrongUsage: there is no run, or no such sink.
  """
  check_sinks(names)
  if not names:
    raise WrongUsage('--send_metrics: say where to with --metrics')
  path, _ = _read(run_dir, 'send_metrics')
  sent = followers.send(names, path, print_metrics, _SEND_SECONDS)
  for follower in sent:
    if follower.has_all:
      print_metrics(f'{follower.name}: has all of {path}')
  return 0 if all(follower.has_all for follower in sent) else 1


def print_metrics(line: str) -> None:
  """Prints what there is to say of sinks, as of a process of the run."""
  screen.show(f'[metrics/0] {line}')


def evaluate(
  run_dir: str | None, num_episodes: int, video_path: str | None = None
) -> int:
  """Plays the policy of a run: as it is now, if the run still goes on.

  Args:
    run_dir: of the run.
    num_episodes: how many.
    video_path: of a video to make of them; None makes none.

  Raises:
    WrongUsage: there is no run, or there can be no such video.
  """
  from policies import play, video
  from run_files import status

  path, run = _read(run_dir, 'evaluate')
  if video_path is not None:
    try:
      video.check(video_path, run.env, run.seed)
    except ValueError as e:
      raise WrongUsage(f'--video: {e}') from e
  try:
    goes_on = status.living(str(path / 'logs')) is not None
  except damage.DamagedError:
    goes_on = False
  folder = path / _POLICY
  if (goes_on or not folder.exists()) and not keep_policy(path, run):
    return 1
  returns = []
  with contextlib.ExitStack() as stack:
    playing = [folder, run.env, run.seed, num_episodes]
    if video_path is not None:
      playing.append(stack.enter_context(video.recording(video_path)))
    for episode in _played(play.play(*playing)):
      returns.append(episode.episode_return)
      screen.show(
        f'episode {len(returns):>4}  return {returns[-1]:>10,.1f}  length '
        f'{episode.length:>6,}',
      )
  screen.show(f'mean return {sum(returns) / len(returns):,.1f}')
  if video_path is not None:
    screen.show(f'{"video":<15}{video_path}')
  return 0


def _played(episodes: Iterator[Any]) -> Iterator[Any]:
  """Passes on episodes; `WrongUsage` if they cannot be played here."""
  from policies import policy

  try:
    yield from episodes
  except policy.PolicyError as e:
    raise damage.DamagedError(f'--evaluate: {e}') from e
  except ValueError as e:
    raise WrongUsage(f'--evaluate: {e}') from e


def export_policy(run_dir: str | None) -> int:
  """Writes the policy of a run, which may still go on.

  Raises:
    WrongUsage: there is no run.
  """
  path, run = _read(run_dir, 'export')
  # A run that still goes on has the accelerator to itself.
  os.environ['JAX_PLATFORMS'] = 'cpu'
  return 0 if keep_policy(path, run) else 1


def keep_policy(run_dir: pathlib.Path, run: settings.Settings) -> bool:
  """Writes the policy of a run, or says why not."""
  from policies import export

  path = run_dir / _POLICY
  try:
    export.export_newest(run.make_experiment(run_dir), path)
  except Exception as e:
    screen.show(
      f'launch.py: the policy of {run_dir} could not be kept: '
      f'{type(e).__name__}: {e}\n'
      'To try again: '
      f'python launch.py --export {shlex.quote(f"--run_dir={run_dir}")}',
      file=sys.stderr,
    )
    return False
  screen.show(f'{"policy":<15}{path}')
  return True
