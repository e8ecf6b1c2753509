"""Exports policies of untrained agents, with actions of their evaluators."""

import dataclasses
import pathlib
from typing import Any

import numpy as np
from acme import core, specs
from acme.utils import counting, loggers

from policies import export
from programs import (
  agents,
  builders,
  environments,
  experiment,
  seeding,
  variable_tables,
)


@dataclasses.dataclass
class Kept:
  """An exported policy, and some episodes that the evaluator's actor played.

  Attributes:
    path: the policy's folder.
    observations: the observations of some episodes, one after the other.
    actions: the evaluator's action after each observation.
    begins: the index of each episode's first observation.
  """

  path: pathlib.Path
  observations: np.ndarray
  actions: np.ndarray
  begins: np.ndarray


def make_experiment(
  agent: str,
  env: str,
  settings: str = 'hidden_layer_sizes=(8,)',
  demonstrations: Any = None,
) -> experiment.ExperimentConfig:
  environment_factory = environments.make_environment_factory(env)
  spec = specs.make_environment_spec(environment_factory(0))
  config = agents.make_config(agent, settings)
  parts = agents.make_parts(agent, spec, config, demonstrations)
  return experiment.ExperimentConfig(
    **vars(parts),
    environment_factory=environment_factory,
    environment_spec=spec,
    max_num_actor_steps=1000,
    seed=3,
    logger_factory=lambda *args, **kwargs: loggers.NoOpLogger(),
  )


def make_learner(config: experiment.ExperimentConfig) -> core.Learner:
  return variable_tables.idle_learner(
    config,
    config.get_environment_spec(),
    seeding.process_key(config.seed, 'learner'),
  )


def make_evaluators_actor(
  config: experiment.ExperimentConfig, learner: core.Learner
) -> core.Actor:
  """Returns the actor of the experiment's default evaluator."""
  made = []
  make_actor = builders.make_actor_of_either_form(
    config.get_builder(), config.get_environment_spec
  )

  def remember(*args, **kwargs):
    made.append(make_actor(*args, **kwargs))
    return made[-1]

  (evaluator,) = config.get_evaluator_factories()
  evaluator(
    seeding.process_key(config.seed, 'evaluator'),
    learner,
    counting.Counter(),
    remember,
  )
  return made[0]


def keep(
  agent: str, env: str, path: pathlib.Path, num_episodes: int = 2
) -> Kept:
  """Exports a new learner's policy, and plays with the evaluator's actor.

  Args:
    agent: the agent's name, as in `--agent`.
    env: the environment's name, as in `--env`.
    path: the folder to which the policy is exported.
    num_episodes: how many episodes the actor plays.
  """
  config = make_experiment(agent, env)
  learner = make_learner(config)
  export.export(config, learner, path)
  actor = make_evaluators_actor(config, learner)
  environment = config.environment_factory(5)
  observations, actions, begins = [], [], []
  for _ in range(num_episodes):
    begins.append(len(observations))
    timestep = environment.reset()
    actor.observe_first(timestep)
    while not timestep.last():
      observations.append(timestep.observation)
      actions.append(actor.select_action(timestep.observation))
      timestep = environment.step(actions[-1])
      actor.observe(actions[-1], timestep)
  return Kept(path, *map(np.asarray, (observations, actions, begins)))
