"""The settings of a small run, which several tests use."""

from cli import settings

SETTINGS = settings.Settings(
  agent='sac',
  env='gym:Pendulum-v1',
  config='',
  seed=0,
  num_actors=3,
  envs_per_actor=1,
  num_steps=100,
  program='distributed',
  demonstrations=None,
  record=False,
  evaluations='3s',
  checkpoint_every=30.0,
  checkpoint_replay=False,
  profile=False,
)
