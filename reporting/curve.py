"""The learning curve: the evaluators' return against actor steps."""

import io
import pathlib

import numpy as np

from run_files import metric_names, metrics, whole_files

_WINDOW = 5
_INK = '#33415c'
_FAINT = '#9aa5b8'
_LINE = '#0b6e99'


def write_learning_curve(run_dir: str | pathlib.Path) -> pathlib.Path:
  """Draws `learning_curve.png` into a run directory.

  A run without evaluations gets a figure that says so.

  Args:
    run_dir: the run directory, whose evaluators' CSV files are read.

  Returns:
    The path of the figure.

  Raises:
    OSError: the figure cannot be written.
  """
  # Imported here, since it is slow and only the end of a run needs it; without
  # pyplot, whose backend may belong to a notebook.
  from matplotlib import figure

  steps, returns = evaluations(run_dir)
  # A return that is NaN would make NaN of every mean that it is in.
  finite = np.isfinite(returns)
  left_out = np.count_nonzero(~finite)
  steps, returns = steps[finite], returns[finite]
  drawing = figure.Figure(figsize=(8, 4.5), layout='constrained')
  axes = drawing.add_subplot()
  _style(axes)
  if len(steps):
    _draw(axes, steps, returns)
    if left_out:
      text = f'{left_out:,} not finite and left out'
      axes.set_title(text, loc='left', fontsize='small', color=_INK)
  else:
    axes.set_xticks([])
    axes.set_yticks([])
    text = 'No evaluation was finished.'
    if left_out:
      text = f'No return of {left_out:,} evaluations is finite.'
    axes.text(0.5, 0.5, text, ha='center', color=_INK)
  path = pathlib.Path(run_dir) / 'learning_curve.png'
  content = io.BytesIO()
  drawing.savefig(content, dpi=150)
  whole_files.write(path, content.getvalue(), durable=False)
  return path


def evaluations(
  run_dir: str | pathlib.Path,
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the steps and the return of each evaluation, in order of steps.

  Args:
    run_dir: the run directory, whose evaluators' CSV files are read.

  Returns:
    Steps and returns, float64[n] each. Steps are the actors', or the learner's
    if the run has no actors; 0 before the first.
  """
  points = [
    (
      row.get(
        metric_names.ACTOR_STEPS, row.get(metric_names.LEARNER_STEPS, 0.0)
      ),
      value,
    )
    for rows in metrics.read(run_dir, 'evaluator')
    for row in rows
    if (value := row.get(metric_names.EVALUATION_RETURN)) is not None
  ]
  points.sort(key=lambda point: point[0])
  steps, returns = np.asarray(points, np.float64).reshape(-1, 2).T
  return steps, returns


def running_mean(values: np.ndarray, window: int) -> np.ndarray:
  """Returns for each value the mean of it and those before it.

  Args:
    values: float64[n].
    window: how many values a mean is of, at least 1; fewer at the start.

  Returns:
    float64[n].
  """
  ends = range(1, len(values) + 1)
  return np.array([values[max(end - window, 0) : end].mean() for end in ends])


def _style(axes) -> None:
  axes.set_xlabel('actor steps', color=_INK)
  axes.set_ylabel('return of an evaluation episode', color=_INK)
  axes.xaxis.set_major_formatter('{x:,.0f}')
  axes.yaxis.set_major_formatter('{x:,.6g}')
  axes.grid(color=_FAINT, alpha=0.25, linewidth=0.8)
  axes.set_axisbelow(True)
  axes.tick_params(colors=_INK, length=0)
  axes.spines[:].set_visible(False)


def _draw(axes, steps: np.ndarray, returns: np.ndarray) -> None:
  axes.plot(steps, returns, 'o', ms=4, mew=0, color=_FAINT, label='episode')
  axes.plot(
    steps,
    running_mean(returns, _WINDOW),
    color=_LINE,
    linewidth=2,
    label=f'mean of the last {_WINDOW}',
  )
  axes.set_xlim(left=0)
  axes.legend(frameon=False, labelcolor=_INK, loc='lower right')
