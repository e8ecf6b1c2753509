"""Draws a line figure as inline SVG, coloured by the page that it is in.

Lines take their colours from the CSS variables `--s0` to `--s7`, and everything
else from classes, so that one figure serves light and dark pages. That is why
no chart library draws it: theirs have fixed colours, or need scripts.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import markupsafe
import numpy as np

from reporting import page
from reporting import series as series_lib

NUM_COLOURS = 8
_DASHES = ('', '7 3', '2 3')
_WIDTH, _HEIGHT = 420, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 404, 10, 224
_NUM_TICKS = 5
# If the highest value is more than so many times the lowest, low values would
# be flat against the axis.
_LOG_RATIO = 100.0
_TINY = 1e-3
_UNITS = ((1e9, 'G'), (1e6, 'M'), (1e3, 'k'))


@dataclasses.dataclass(frozen=True)
class Line:
  """A curve and how it is drawn.

  Attributes:
    label: shown while the pointer rests on it.
    style: its place among all lines of the page, which picks colour and dashes.
    series: its points, one at least.
  """

  label: str
  style: int
  series: series_lib.Series


@dataclasses.dataclass(frozen=True)
class _Axis:
  """Maps values from `low` to `high` to coordinates from `start` to `end`."""

  low: float
  high: float
  start: float
  end: float
  is_log: bool = False

  def __call__(self, values):
    low, high, values = map(self._scale, (self.low, self.high, values))
    return self.start + (values - low) / (high - low) * (self.end - self.start)

  def _scale(self, values):
    return np.log10(values) if self.is_log else values

  def ticks(self) -> list[float]:
    """Returns the values that get a mark."""
    if self.is_log:
      return _log_ticks(self.low, self.high)
    return _ticks(self.low, self.high)


def figure(
  name: str,
  lines: Sequence[Line],
  from_zero: bool = False,
  is_log: bool = False,
) -> markupsafe.Markup:
  """Returns an `<svg>` element.

  Args:
    name: read out to those who cannot see the figure.
    lines: later ones are drawn above earlier ones. Without any, the figure says
      that nothing was written yet.
    from_zero: whether the y axis begins at zero, if it is not logarithmic.
    is_log: whether the y axis is logarithmic.
  """
  inside = '\n'.join(_draw(lines, from_zero, is_log) if lines else _nothing())
  return markupsafe.Markup(
    f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
    f'aria-label="{page.escape(name)}">\n{inside}\n</svg>'
  )


def asks_for_log(lines: Sequence[Line]) -> bool:
  """Whether values are positive and of very different magnitude."""
  low, high = _range(lines, ('y', 'low', 'high')) if lines else (0.0, 0.0)
  return low > 0 and high > _LOG_RATIO * low


def swatch(style: int) -> markupsafe.Markup:
  """Returns a short piece of a line, for a legend."""
  return markupsafe.Markup(
    '<svg class="swatch" viewBox="0 0 24 8" aria-hidden="true">'
    f'<path d="M1 4H23"{_stroke(style)}/></svg>'
  )


def _nothing() -> Iterator[str]:
  yield _text(_WIDTH / 2, _HEIGHT / 2, 'middle', 'Nothing was written yet.')


def _draw(
  lines: Sequence[Line], from_zero: bool, is_log: bool
) -> Iterator[str]:
  _, right = _range(lines, ('x',))
  across = _Axis(0.0, right, _LEFT, _RIGHT)
  low, high = _range(lines, ('y', 'low', 'high'))
  room = 0.0 if is_log else 0.05 * (high - low)
  high += room
  low = min(low, 0.0) if from_zero and not is_log else low - room
  up = _Axis(low, high, _BOTTOM, _TOP, is_log)
  yield from _grid(across, up)
  for line in lines:
    yield from _band(line, across, up)
  for line in lines:
    yield from _line(line, across, up)


def _range(lines: Sequence[Line], fields: Sequence[str]) -> tuple[float, float]:
  values = [getattr(line.series, field) for line in lines for field in fields]
  values = np.concatenate([value for value in values if value is not None])
  low, high = float(values.min()), float(values.max())
  if low < high:
    return low, high
  if low == 0:
    return 0.0, 1.0
  return low - abs(low) / 10, low + abs(low) / 10


def _grid(across: _Axis, up: _Axis) -> Iterator[str]:
  for tick in up.ticks():
    y = float(up(tick))
    yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>'
    yield _text(_LEFT - 7, y + 4, 'end', format_tick(tick))
  for tick in across.ticks():
    yield _text(float(across(tick)), _BOTTOM + 17, 'middle', format_tick(tick))
  yield f'<path class="axis" d="M{_LEFT} {_BOTTOM}H{_RIGHT}"/>'


def _band(line: Line, across: _Axis, up: _Axis) -> Iterator[str]:
  series = line.series
  if series.low is None:
    return
  x = np.concatenate([series.x, series.x[::-1]])
  y = np.concatenate([series.low, series.high[::-1]])
  colour = f'var(--s{line.style % NUM_COLOURS})'
  yield (
    f'<path d="{_path(across(x), up(y))}Z" fill="{colour}" fill-opacity=".16">'
    f'{_title(line)}</path>'
  )


def _line(line: Line, across: _Axis, up: _Axis) -> Iterator[str]:
  x, y = across(line.series.x), up(line.series.y)
  if len(x) == 1:
    colour = f'var(--s{line.style % NUM_COLOURS})'
    yield (
      f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="3" fill="{colour}">'
      f'{_title(line)}</circle>'
    )
  else:
    path = _path(x, y)
    yield f'<path d="{path}"{_stroke(line.style)}>{_title(line)}</path>'


def _stroke(style: int) -> str:
  dash = _DASHES[style // NUM_COLOURS % len(_DASHES)]
  dash = f' stroke-dasharray="{dash}"' if dash else ''
  return (
    f' fill="none" stroke="var(--s{style % NUM_COLOURS})" stroke-width="2" '
    f'stroke-linejoin="round"{dash}'
  )


def _title(line: Line) -> str:
  return f'<title>{page.escape(line.label)}</title>'


def _path(x: np.ndarray, y: np.ndarray) -> str:
  return 'M' + 'L'.join(f'{a:.1f} {b:.1f}' for a, b in zip(x, y, strict=True))


def _text(x: float, y: float, anchor: str, text: str) -> str:
  return (
    f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
    f'{page.escape(text)}</text>'
  )


def format_tick(value: float) -> str:
  """Returns a number in few characters, as in 2.5k."""
  value = float(f'{value:.6g}')
  text = f'{value:g}'
  if 0 < abs(value) < _TINY:
    text = np.format_float_scientific(
      value, precision=2, trim='-', exp_digits=1
    )
  for size, unit in _UNITS:
    if abs(value) >= size:
      text = f'{value / size:g}{unit}'
      break
  return text.replace('-', '\N{MINUS SIGN}')


def _ticks(low: float, high: float) -> list[float]:
  """Returns multiples of 1, 2, 2.5 or 5 times a power of ten."""
  rough = (high - low) / _NUM_TICKS
  power = 10.0 ** math.floor(math.log10(rough))
  step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough)
  first, last = math.ceil(low / step), math.floor(high / step)
  return [i * step for i in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
  """Returns powers of ten, with some between if there are few."""
  first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
  step = math.ceil((last - first) / _NUM_TICKS)
  factors = (1, 2, 5) if last - first < 4 else (1,)
  ticks = [f * 10.0**i for i in range(first, last + 1, step) for f in factors]
  return [tick for tick in ticks if low <= tick <= high]
