"""Plays the policy of a run, prints each return, and films the episodes.

The run may still go on: then the policy is that of its newest checkpoint.
"""

import argparse
import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

from cli import finding, keeping
from cli import settings as settings_lib
from cli.settings import WrongUsage
from run_files import damage, screen, status


def add_arguments(parser: argparse.ArgumentParser) -> None:
  finding.add_run_dir(parser)
  parser.add_argument(
    '--episodes',
    type=_positive,
    default=10,
    metavar='N',
    help='the number of episodes to play; 10 if you do not say',
  )
  parser.add_argument(
    '--video', metavar='FILE', help='film the episodes into this mp4 file'
  )


def run(arguments: argparse.Namespace) -> int:
  """Plays the policy, and prints each episode's return.

  Raises:
    WrongUsage: there is no run, or no video can be made.
  """
  run_dir = pathlib.Path(arguments.run_dir).absolute()
  settings = settings_lib.read(run_dir)
  if arguments.video is not None:
    _check_video(arguments.video, settings)
  folder = run_dir / keeping.POLICY
  if (_goes_on(run_dir) or not folder.exists()) and not keeping.keep_policy(
    run_dir, settings
  ):
    return 1
  _play(folder, settings, arguments.episodes, arguments.video)
  return 0


def _positive(text: str) -> int:
  if not text.isdecimal() or not int(text):
    raise argparse.ArgumentTypeError(f'{text!r} is not a number of episodes')
  return int(text)


def _check_video(path: str, settings: settings_lib.Settings) -> None:
  from policies import video

  try:
    video.check(path, settings.env, settings.seed)
  except ValueError as e:
    raise WrongUsage(f'--video: {e}') from e


def _goes_on(run_dir: pathlib.Path) -> bool:
  try:
    return status.living(str(run_dir / 'logs')) is not None
  except damage.DamagedError:
    return False


def _play(
  folder: pathlib.Path,
  settings: settings_lib.Settings,
  num_episodes: int,
  video_path: str | None,
) -> None:
  from policies import play, video

  returns = []
  with contextlib.ExitStack() as stack:
    playing = [folder, settings.env, settings.seed, num_episodes]
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


def _played(episodes: Iterator[Any]) -> Iterator[Any]:
  """Yields the episodes; an error becomes one that is printed as a sentence."""
  from policies import policy

  try:
    yield from episodes
  except policy.PolicyError as e:
    raise damage.DamagedError(str(e)) from e
  except ValueError as e:
    raise WrongUsage(str(e)) from e
