"""A run as a job of a Slurm cluster, submitted here, launched on its nodes."""

import contextlib
import pathlib
import shlex
import shutil
import sys
from collections.abc import Sequence

from backends import api
from backends import resources as resources_lib
from backends.slurm import job, script


class SlurmBackend(api.Backend):
  """Submits a job on a login node; inside the job, launches the program."""

  FLAGS = (
    api.Flag(
      'slurm',
      '',
      "sbatch's options for the job, or for a role's part of it: "
      'account=rl,time=1:00:00;learner:partition=gpu.',
    ),
  )
  SUBMITS = True
  HAS_DRY_RUN = True

  def __init__(
    self, name: str, resources: api.ResourcesByLabel, slurm: str = ''
  ):
    self.name = name
    # Unlike `--resources`, the plan names every role.
    self.resources = (
      script.planned_resources() if script.in_job() else resources
    )
    try:
      self._options = script.parse_options(slurm)
    except ValueError as e:
      raise api.RefusedError(f'--slurm: {e}') from e

  @classmethod
  def has_started_this(cls):
    return script.in_job()

  def check(self, run_dir, dry_run):
    del run_dir
    is_needed = not (script.in_job() or dry_run)
    if is_needed and shutil.which('sbatch') is None:
      raise api.RefusedError(
        '--backend=slurm: this machine has no sbatch; type the command on a '
        "login node of the cluster, or print the job's script with --dry_run"
      )

  def run(self, make_program, *, config, on_line, resize=None):
    from backends.slurm import allocation

    del resize  # A job's size is fixed.
    return allocation.run(make_program, config=config, on_line=on_line)

  def describe(self, submission):
    return self._script(submission, self._components(submission))

  def submit(self, submission):
    parts = self._components(submission)
    text = self._script(submission, parts)
    run_dir, folder = submission.run_dir, job.folder(submission.run_dir)
    is_new = not folder.exists()
    (run_dir / 'logs').mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    script.save_plan(_plan_path(run_dir), parts)
    try:
      number = job.submit(run_dir, text)
    except job.SlurmError as e:
      if is_new:
        shutil.rmtree(folder)
      with contextlib.suppress(OSError):
        (run_dir / 'logs').rmdir()
      raise api.RefusedError(f'--backend=slurm: {e}') from e
    output = shlex.quote(f'{run_dir}/logs/slurm-{number}.out')
    return api.Submitted(
      'on storage that all nodes share',
      (('job', number), ('its output', f'tail -F {output}')),
      flags=(),
    )

  def _components(self, submission: api.Submission) -> list[script.Component]:
    try:
      resources_lib.check_roles(self._options, submission.groups)
    except ValueError as e:
      raise api.RefusedError(f'--slurm: {e}') from e
    return script.components(submission.groups, self.resources, self._options)

  def _script(
    self, submission: api.Submission, parts: Sequence[script.Component]
  ) -> str:
    launch = str(pathlib.Path(sys.argv[0]).absolute())
    try:
      return script.render(
        submission.run_dir.name,
        parts,
        [sys.executable, launch, *submission.flags],
        _plan_path(submission.run_dir),
        submission.run_dir / 'logs',
      )
    except ValueError as e:
      raise api.RefusedError(f'--run_dir: {e}') from e

  def state(self, run_dir):
    number = job.number(run_dir)
    try:
      state = None if number is None else job.state(number)
    except job.SlurmError as e:
      raise api.RefusedError(f'{run_dir} ran on Slurm: {e}') from e
    return None if state is None else f'job {number} of Slurm: {state}'

  def stop(self, run_dir):
    job.cancel(job.number(run_dir))


def _plan_path(run_dir: pathlib.Path) -> pathlib.Path:
  return job.folder(run_dir) / 'plan.json'
