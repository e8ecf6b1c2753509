"""A run for each seed, and a comparison, with a stand-in for `launch.py`."""

import json

import pytest

from cli import seeds, settings

# Fails if the seed is 4; else leaves files of a run whose return is the seed.
_LAUNCH = """
import json, pathlib, sys
print(*sys.argv[1:])
flags = dict(arg.removeprefix('--').split('=') for arg in sys.argv[1:])
run_dir, seed = pathlib.Path(flags['run_dir']), int(flags['seed'])
(run_dir / 'metrics').mkdir(parents=True)
config = {'agent': 'sac', 'env': 'gym:A-v0', 'seed': seed, 'config': ''}
(run_dir / 'config.json').write_text(json.dumps(config))
(run_dir / 'metrics' / 'evaluator_0.csv').write_text(
  f'time,actor/steps,evaluator/episode_return\\n1,100,{seed}\\n'
)
sys.exit(3 if seed == 4 else 0)
"""


@pytest.fixture(autouse=True)
def launch(tmp_path, monkeypatch):
  path = tmp_path / 'launch.py'
  path.write_text(_LAUNCH)
  monkeypatch.setattr(seeds, '_LAUNCH', path)


@pytest.mark.parametrize('num_actors', [1, 1000])
def test_a_run_a_seed_and_their_interquartile_mean(
  num_actors, tmp_path, monkeypatch, capfd
):
  monkeypatch.setattr('os.cpu_count', lambda: 6)
  flags = ['--agent=sac', '--seeds=3,5']
  assert seeds.run([3, 5], flags, num_actors, tmp_path / 'sweep') == 0
  for seed in (3, 5):
    config = (tmp_path / 'sweep' / f'seed_{seed}' / 'config.json').read_text()
    assert json.loads(config)['seed'] == seed
  assert (tmp_path / 'sweep' / 'report.html').exists()
  *lines, first, second, mean, report = capfd.readouterr().out.splitlines()
  typed = [line for line in lines if '--agent=sac --seeds=3,5 --seeds=' in line]
  assert len(typed) == 2
  # Lines of runs that go side by side say which run they are of.
  assert typed[0].startswith('seed ' if num_actors == 1 else '--agent')
  assert first.split() == ['seed', '3', 'return', '3.0']
  assert second.split() == ['seed', '5', 'return', '5.0']
  assert 'interquartile mean' in mean and mean.endswith('of 2 runs')
  assert report.endswith('report.html')


def test_a_run_that_fails_is_named_and_left_out(tmp_path, capfd):
  assert seeds.run([3, 4], [], 1, tmp_path / 'sweep') == 3
  *_, failed, mean, _ = capfd.readouterr().out.splitlines()
  assert failed.split()[-3:] == ['exit', 'code', '3']
  assert mean.endswith('of 1 run')


def test_no_run_is_begun_over_another(tmp_path):
  (tmp_path / 'seed_5').mkdir()
  with pytest.raises(settings.WrongUsage, match='seed_5 exists already'):
    seeds.run([3, 5], [], 1, tmp_path)
  assert not (tmp_path / 'seed_3').exists()
