"""Environment variables take effect in tasks that are forked after imports."""

import json
import os

import pytest

from backends.process import env_vars
from tests import helpers


def _report_jax():
  import jax
  import numpy  # noqa: F401

  report = {
    'platform': jax.devices()[0].platform,
    'devices': jax.device_count(),
    'x64': str(jax.numpy.ones(1, 'float64').dtype),
    'openblas': [get() for get in env_vars.openblas('get_num_threads')],
    'mine': os.environ['MINE'],
    'seconds': jax.config.jax_persistent_cache_min_compile_time_secs,
  }
  print(json.dumps(report))


def _report_failure():
  import jax

  try:
    jax.devices()
  except RuntimeError as e:
    print(str(e).splitlines()[0])


def test_variables_take_effect_in_forks_after_jax_is_imported():
  # This machine has no TPU. So a task with JAX_PLATFORMS=tpu must fail, which
  # shows that the variable takes effect.
  result, lines = helpers.run(
    helpers.program(
      one=_report_jax, two=[_report_jax, _report_jax], three=_report_failure
    ),
    preload=['jax', 'numpy'],
    default_env={'MINE': 'all', 'JAX_PLATFORMS': 'cpu'},
    env={
      'two': {
        'MINE': 'two',
        'JAX_ENABLE_X64': '1',
        'JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS': '0.5',
        'XLA_FLAGS': '--xla_force_host_platform_device_count=3',
        'OPENBLAS_NUM_THREADS': '2',
      },
      'three': {'JAX_PLATFORMS': 'tpu'},
    },
  )
  assert result.exit_code == 0
  one = json.loads(lines.of('one/0')[-1])
  assert (one['platform'], one['devices'], one['mine']) == ('cpu', 1, 'all')
  assert one['x64'] == 'float32'
  assert set(one['openblas']) == {1}
  for index in range(2):
    two = json.loads(lines.of(f'two/{index}')[-1])
    assert (two['platform'], two['devices'], two['mine']) == ('cpu', 3, 'two')
    assert (two['x64'], two['seconds']) == ('float64', 0.5)
    assert set(two['openblas']) == {2}
  assert any('tpu' in line for line in lines.of('three/0'))
  # The tasks were forked, or else the launcher would have printed a note.
  assert not lines.of('launcher/0')


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_none_unsets_a_variable(start, monkeypatch):
  monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '7')

  def show():
    import jax

    print(os.environ.get('CUDA_VISIBLE_DEVICES'), jax.config.jax_platforms)

  result, lines = helpers.run(
    helpers.program(actor=show, learner=show),
    preload=['jax'],
    start=start,
    default_env={'CUDA_VISIBLE_DEVICES': '', 'JAX_PLATFORMS': 'cpu'},
    env={'learner': {'CUDA_VISIBLE_DEVICES': None, 'JAX_PLATFORMS': None}},
  )
  assert result.exit_code == 0
  assert lines.of('actor/0') == [' cpu']
  assert lines.of('learner/0') == ['None None']


def test_the_parent_imports_with_what_all_tasks_share(tmp_path, monkeypatch):
  (tmp_path / 'read_at_import.py').write_text(
    'import os\nSEEN = os.environ["READ_AT_IMPORT"]\n'
  )
  monkeypatch.syspath_prepend(tmp_path)

  def show():
    import read_at_import

    print(read_at_import.SEEN)

  result, lines = helpers.run(
    helpers.program(node=show),
    preload=['read_at_import'],
    default_env={'READ_AT_IMPORT': 'yes'},
  )
  assert result.exit_code == 0
  assert lines.of('node/0') == ['yes']


def test_a_value_that_jax_refuses_is_named():
  result, _ = helpers.run(
    helpers.program(node=_report_failure),
    preload=['jax'],
    env={'node': {'JAX_NUM_CPU_DEVICES': 'many'}},
  )
  assert result.exit_code == 1
  assert "JAX_NUM_CPU_DEVICES='many'" in result.cause.lines[-1]


@pytest.mark.parametrize('start', ['fork', 'spawn'])
def test_siblings_draw_different_random_numbers(start):
  def draw():
    import random

    import numpy

    print(numpy.random.randint(2**31), random.random())

  result, lines = helpers.run(
    helpers.program(node=[draw, draw, draw]), preload=['numpy'], start=start
  )
  assert result.exit_code == 0
  drawn = [lines.of(f'node/{index}')[0].split() for index in range(3)]
  assert len({number for pair in drawn for number in pair}) == 6


def test_tensorflow_and_reverb_work_in_forks():
  def serve():
    import threading
    import time

    import reverb
    import tensorflow as tf

    table = reverb.Table.queue('queue', 10)
    server = reverb.Server([table], port=None)
    client = reverb.Client(f'127.0.0.1:{server.port}')
    client.insert([tf.constant(3.0).numpy()], {'queue': 1.0})
    dataset = reverb.TimestepDataset(
      f'127.0.0.1:{server.port}',
      'queue',
      dtypes=(tf.float32,),
      shapes=(tf.TensorShape([]),),
      max_in_flight_samples_per_worker=1,
    )
    sample = next(dataset.as_numpy_iterator())
    print('sampled', float(sample.data[0]))

    def keep_busy():
      while True:
        client.insert([tf.constant(1.0).numpy()], {'queue': 1.0})
        list(tf.data.Dataset.range(3).as_numpy_iterator())
        next(client.sample('queue'))

    # The process must end without a crash although threads are inside C++ code.
    for _ in range(4):
      threading.Thread(target=keep_busy, daemon=True).start()
    time.sleep(0.5)

  result, lines = helpers.run(
    helpers.program(server=serve), preload=['tensorflow', 'reverb']
  )
  assert result.exit_code == 0
  assert 'sampled 3.0' in lines.of('server/0')
  assert not any('interpreter' in line for line in lines.of('launcher/0'))


@pytest.mark.parametrize('cores, half', [(1, '1'), (2, '1'), (16, '8')])
def test_half_the_cores_are_those_that_the_task_may_use(
  cores, half, monkeypatch
):
  monkeypatch.setattr(os, 'sched_getaffinity', lambda pid: set(range(cores)))
  filled = env_vars.merged({'NPROC': env_vars.HALF_THE_CORES})
  assert filled['NPROC'] == half
