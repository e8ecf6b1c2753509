"""Fills the template of the report, `report.html`."""

import pathlib
from typing import Any

import jinja2
import markupsafe

from run_files import screen

_NOTHING = '\N{EN DASH}'
_MINUS = '\N{MINUS SIGN}'


def render(**content: Any) -> str:
  """Returns the report as HTML.

  Args:
    **content: what the template names. Text is escaped, unless it is `Markup`.
  """
  environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    finalize=escape,
    trim_blocks=True,
    lstrip_blocks=True,
  )
  environment.filters['number'] = _number
  return environment.get_template('report.html').render(content)


def escape(value: Any) -> markupsafe.Markup:
  """Returns HTML that shows a value; what is HTML already stays as it is."""
  if isinstance(value, markupsafe.Markup):
    return value
  return markupsafe.escape(screen.plain(str(value)))


def _number(value: float | None, digits: int = 0) -> str:
  """Returns a number with thousands marked; a dash for None."""
  if value is None:
    return _NOTHING
  return f'{value:,.{digits}f}'.replace('-', _MINUS)
