"""Line figures as SVG."""

import re

import numpy as np
import pytest

from reporting import series, svg


def _figure(x, y, **drawn):
  values = series.Series(np.array(x, float), np.array(y, float))
  return svg.figure('name', [svg.Line('label', 0, values)], **drawn)


def _ticks(figure, anchor):
  return re.findall(f'anchor="{anchor}">([^<]*)<', figure)


def test_ticks_are_round_and_span_the_values():
  figure = _figure([0, 8000], [-1500, -120])
  assert _ticks(figure, 'middle') == ['0', '2k', '4k', '6k', '8k']
  assert _ticks(figure, 'end') == ['−1.5k', '−1k', '−500']


@pytest.mark.parametrize(
  'value, text',
  [
    (0.0, '0'),
    (-0.00025, '−2.5e−4'),
    (3 * 0.1, '0.3'),
    (3 * 1e-4, '3e−4'),
    (1e3, '1k'),
    (1000.25, '1.00025k'),
    (-2.5e6, '−2.5M'),
  ],
)
def test_a_tick_is_short(value, text):
  assert svg.format_tick(value) == text


def test_a_logarithmic_axis_has_powers_of_ten():
  figure = _figure([0, 1], [0.004, 3e5], is_log=True)
  assert _ticks(figure, 'end') == ['0.1', '10', '1k', '100k']


@pytest.mark.parametrize(
  'x, y', [([0], [0]), ([5], [-3]), ([1, 2, 3], [7, 7, 7]), ([0, 1], [0, 0])]
)
@pytest.mark.parametrize('from_zero', [False, True])
def test_curves_without_extent_stay_in_the_figure(x, y, from_zero):
  figure = _figure(x, y, from_zero=from_zero)
  assert 'nan' not in figure
  assert len(_ticks(figure, 'end')) > 1
  places = re.findall(r'c[xy]="([^"]*)"|[ML]([0-9.]+) ([0-9.]+)', figure)
  assert places
  assert all(0 <= float(p) <= 420 for place in places for p in place if p)


def test_when_colours_run_out_lines_differ_in_their_dashes():
  swatches = {svg.swatch(i) for i in range(3 * svg.NUM_COLOURS)}
  assert len(swatches) == 3 * svg.NUM_COLOURS
