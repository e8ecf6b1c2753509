"""How the text of `--kubernetes` is read."""

import pathlib

import pytest

from backends.kubernetes import options as options_lib


def test_options_are_the_runs_or_a_roles():
  options = options_lib.parse(
    'image=host:5000/rl@sha256:12,volume=my.claim:/mnt/runs,memory=2Gi,'
    'nodeSelector.a.b/c=d;replay:memory=16Gi'
  )
  assert options.run['image'] == 'host:5000/rl@sha256:12'
  assert options.claim == 'my.claim'
  assert options.mount_path == pathlib.PurePosixPath('/mnt/runs')
  assert options.of('replay') == {'memory': '16Gi', 'nodeSelector.a.b/c': 'd'}
  assert options.of('actor')['memory'] == '2Gi'
  options.check_complete()


@pytest.mark.parametrize(
  'text, message',
  [
    ('imag=x', "no 'imag'; the nearest is 'image'"),
    ('learner:memry=1Gi', "learner: there is no 'memry'; .* 'memory'"),
    ('learner:image=x', 'learner: image is an option of the whole run'),
    ('nodeSelector.=x', "there is no 'nodeSelector.'"),
    ('volume=claim', 'volume=claim: write it as in volume=runs:/runs'),
    ('volume=claim:runs', 'write it as in volume=runs:/runs'),
    ('memory=lots', 'write it as in memory=16Gi'),
    ('namespace=A_b', 'write it as in namespace=rl'),
    ('image=', 'image=: write it as in image='),
  ],
)
def test_what_is_no_option_is_refused(text, message):
  with pytest.raises(ValueError, match=message):
    options_lib.parse(text)


@pytest.mark.parametrize(
  'text, message',
  [
    ('volume=c:/runs', 'image is missing; add image=REGISTRY'),
    ('image=x', 'volume is missing; add volume=CLAIM:/PATH'),
  ],
)
def test_a_run_needs_image_and_volume(text, message):
  with pytest.raises(ValueError, match=message):
    options_lib.parse(text).check_complete()
