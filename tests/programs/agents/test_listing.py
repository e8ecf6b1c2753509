"""The tables of agents and settings are complete, and import little."""

import dataclasses
import pathlib
import subprocess
import sys

import pytest
from acme import specs

from programs import agents, environments
from programs.agents import listing

_ROOT = pathlib.Path(__file__).parents[3]
_OWN = 'module:tests.programs.agents.own'


@pytest.mark.parametrize('agent', [*agents.AGENTS, _OWN])
def test_each_setting_has_a_row(agent):
  rows = listing.settings(agent)
  fields = dataclasses.fields(agents.find(agent).config_type)
  assert [row.name for row in rows] == [field.name for field in fields]
  for row in rows:
    assert row.meaning or agent == _OWN, row
    agents.make_config(agent, f'{row.name}={row.default}')


def test_a_setting_keeps_the_description_of_its_base():
  (row,) = [row for row in listing.settings('d4pg') if row.name == 'n_step']
  assert (row.type, row.default) == ('int', '5')
  assert row.meaning.startswith('number of rewards that are summed')


def test_ones_own_agent_is_listed_as_others_are():
  (row,) = listing.rows([_OWN])
  assert row == listing.rows(['dqn'])[0]._replace(name=_OWN)


_NEW = """
import dataclasses
from programs.agents import dqn
from programs.agents.shared import limits

@dataclasses.dataclass(frozen=True)
class Config(dqn.Config):
  \"\"\"Settings of it.

  Attributes:
    share: a share.
  \"\"\"

  share: limits.Share = 0.5

AGENT = dataclasses.replace(dqn.AGENT, config_type=Config)
"""


def test_an_agent_is_added_by_its_file_and_its_name(tmp_path, monkeypatch):
  (tmp_path / 'new.py').write_text(_NEW)
  monkeypatch.setattr(agents, '__path__', [*agents.__path__, str(tmp_path)])
  monkeypatch.setattr(agents, 'AGENTS', (*agents.AGENTS, 'new'))
  assert listing.text(agents.AGENTS).splitlines()[-1].split()[0] == 'new'
  assert listing.settings('new')[-1] == ('share', 'float', '0.5', 'a share.')
  assert agents.make_config('new', 'share=1').share == 1
  with pytest.raises(ValueError, match='share=2.0 is not between 0 and 1'):
    agents.make_config('new', 'share=2')
  environment = environments.make_environment_factory('gym:CartPole-v1')(0)
  spec = specs.make_environment_spec(environment)
  assert agents.make_parts('new', spec).variable_names == ('',)


def test_neither_tables_nor_configs_wait_for_acme():
  script = """
import sys
from programs import agents
from programs.agents import listing
listing.text()
for agent in agents.AGENTS:
  listing.settings(agent)
  agents.make_config(agent)
print({'acme', 'haiku', 'jax', 'reverb', 'tensorflow'} & {*sys.modules})
"""
  result = subprocess.run(
    [sys.executable, '-c', script],
    cwd=_ROOT,
    capture_output=True,
    text=True,
    timeout=60,
  )
  assert result.stdout == 'set()\n', result.stderr
