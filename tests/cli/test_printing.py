"""Which lines of a run's tasks are printed."""

from cli import printing
from run_files import metric_names

_STOP = 'lp.stop() was called: stopping actor, then learner.'


def _print(printer):
  printer('replay', 0, '[reverb/cc/platform/server.cc:71] serves')
  printer('actor', 0, f'{metric_names.row_prefix("actor", 0)} steps 200')
  printer('launcher', 0, _STOP)
  printer('launcher', 0, 'actor/0 ended with 1; it starts again in 1 s.')


def test_a_quiet_run_tells_only_what_is_out_of_the_ordinary(capsys):
  _print(printing.Printer(rows=False, quiet=True))
  assert capsys.readouterr().out.splitlines() == [
    '[launcher/0] actor/0 ended with 1; it starts again in 1 s.'
  ]


def test_any_other_run_tells_that_it_stops_too(capsys):
  _print(printing.Printer())
  lines = capsys.readouterr().out.splitlines()
  assert len(lines) == 3
  assert f'[launcher/0] {_STOP}' in lines
