"""`launch.py --seeds` makes a run for each seed, and compares the runs."""

import json

import pytest

from tests.e2e import runs

_FLAGS = (
  '--agent=dqn',
  '--env=bsuite:catch/0',
  '--config=hidden_layer_sizes=(8,),batch_size=8,min_replay_size=20',
  '--num_actors=1',
)


# `tests/cli/test_seeds.py` has the same test with fake runs.
@pytest.mark.long
def test_a_run_a_seed_and_their_interquartile_mean(tmp_path):
  run = runs.Run(tmp_path / 'sweep')
  with run.launch(*_FLAGS, '--seeds=3,5', '--num_steps=100'):
    assert run.end() == 0, run.output
  for seed in (3, 5):
    config = json.loads((run.run_dir / f'seed_{seed}/config.json').read_text())
    assert config['seed'] == seed
  tail = run.output.splitlines()[-4:]
  assert [line.split()[0] for line in tail] == ['seed', 'seed', 'all', 'report']
  assert 'interquartile mean' in tail[2]
  assert tail[2].endswith('of 2 runs')
  assert (run.run_dir / 'report.html').exists()

  with run.launch(*_FLAGS, '--seeds=5', '--num_steps=100'):
    assert run.end() == 2
  assert 'seed_5 exists already' in run.output


def test_wrong_seeds_are_refused(tmp_path):
  run = runs.Run(tmp_path / 'sweep')
  for wrong in ('1,1', 'one', '-1'):
    with run.launch(*_FLAGS, f'--seeds={wrong}'):
      assert run.end() == 2
    assert 'write them as 0,1,2' in run.output
  assert not run.run_dir.exists()


def test_a_stop_while_the_first_begins(tmp_path):
  run = runs.Run(tmp_path / 'sweep')
  with run.launch(*_FLAGS, '--seeds=1,2', '--num_steps=100') as process:
    run.wait_until(lambda: 'seed ' in run.output, 'first run')
    process.terminate()
    assert run.end() == 143
  assert 'Traceback' not in run.output
  assert 'seed 2' in run.output and 'did not begin' in run.output


def test_what_every_run_would_refuse_is_refused_once(tmp_path):
  run = runs.Run(tmp_path / 'sweep')
  with run.launch(*_FLAGS, '--seeds=1,2', '--metrics=paper'):
    assert run.end() == 2
  assert len(run.output.splitlines()) == 1
