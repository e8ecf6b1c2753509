"""The offline program: a learner that learns from a dataset, without actors.

          counts, stop rule
counter <---------------- all others

dataset --- batches ---> learner --- push ---> variable server
                                                    |
                              evaluator x M <- pull +
"""

import compat  # noqa: F401

import launchpad as lp

from nodes import worker
from programs import distributed, processes
from programs import experiment as experiment_lib


def make_program(
  experiment: experiment_lib.ExperimentConfig, name: str = 'offline'
) -> lp.Program:
  """Makes the Launchpad program of an experiment without actors.

  Args:
    experiment: the experiment to run. Its `dataset_factory` makes the learner's
      batches.
    name: the program's name.

  Returns:
    A program with the groups `variable_server`, `counter`, `learner` and, if
    the experiment has any, `evaluator`.

  Raises:
    ValueError: the experiment has no `dataset_factory`.
  """
  if experiment.dataset_factory is None:
    raise ValueError(
      'an offline program needs a dataset_factory in its ExperimentConfig'
    )
  program = lp.Program(name)

  variables = distributed.add_variable_server(program, experiment)
  counter = distributed.add_counter(program, experiment)

  with program.group('learner'):
    program.add_node(
      worker.Node(processes.learner, experiment, None, variables, counter)
    )

  distributed.add_evaluators(program, experiment, variables, counter)
  return program
