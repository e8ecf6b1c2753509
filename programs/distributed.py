"""The distributed program, on one page: every node, and every edge between two.

          counts, stop rule
counter <---------------- all others

replay ------ samples -----> learner --- push ---> variable server
  ^                                                      |
  +---- insert ---- actor x N                            |
                    actor x N, evaluator x M <--- pull --+
"""

import compat  # noqa: F401

import launchpad as lp

from nodes import counter as counter_lib
from nodes import replay as replay_lib
from nodes import variable_server as variable_server_lib
from nodes import worker
from programs import experiment as experiment_lib
from programs import processes, replay_tables, variable_tables

# A server may still be importing its packages when its first client connects.
_CONNECT_SECONDS = 300.0


def make_program(
  experiment: experiment_lib.ExperimentConfig,
  num_actors: int,
  name: str = 'agent',
) -> lp.Program:
  """Makes the Launchpad program of an experiment.

  Args:
    experiment: the experiment to run.
    num_actors: the number of actor processes, at least 1.
    name: the program's name.

  Returns:
    A program with the groups `replay`, `variable_server`, `counter`, `learner`,
    `actor` and, if the experiment has any, `evaluator`.

  Raises:
    ValueError: `num_actors` is below 1.
  """
  if num_actors < 1:
    raise ValueError(f'num_actors: expected 1 or more, got {num_actors}')
  program = lp.Program(name)

  with program.group('replay'):
    replay = program.add_node(
      replay_lib.ReplayNode(
        replay_tables.make,
        experiment,
        checkpointing=experiment.get_replay_checkpointing(),
      )
    )

  variables = add_variable_server(program, experiment)
  counter = add_counter(program, experiment)

  with program.group('learner'):
    program.add_node(
      worker.Node(processes.learner, experiment, replay, variables, counter)
    )

  with program.group('actor'):
    for actor_id in range(num_actors):
      program.add_node(
        worker.Node(
          processes.actor, experiment, replay, variables, counter, actor_id
        )
      )

  add_evaluators(program, experiment, variables, counter)
  return program


def add_variable_server(
  program: lp.Program, experiment: experiment_lib.ExperimentConfig
) -> variable_server_lib.VariableServerHandle:
  """Adds the server from which actors and evaluators get the learner's weights.

  Args:
    program: the program that gets the node, in a new group.
    experiment: the experiment to run.

  Returns:
    A handle that dereferences to a `container.ReverbVariableContainer`.
  """
  with program.group('variable_server'):
    return program.add_node(
      variable_server_lib.VariableServerNode(
        variable_tables.make,
        experiment,
        leaf_type='jax',
        timeout=_CONNECT_SECONDS,
      )
    )


def add_counter(
  program: lp.Program, experiment: experiment_lib.ExperimentConfig
) -> counter_lib.CounterHandle:
  """Adds the counter, which stops the program at the experiment's limits.

  Args:
    program: the program that gets the node, in a new group.
    experiment: the experiment to run.

  Returns:
    A handle that dereferences to a `counter_client.CounterClient`.
  """
  with program.group('counter'):
    return program.add_node(
      counter_lib.CounterNode(processes.counter, experiment)
    )


def add_evaluators(
  program: lp.Program,
  experiment: experiment_lib.ExperimentConfig,
  variables: variable_server_lib.VariableServerHandle,
  counter: counter_lib.CounterHandle,
) -> None:
  """Adds a node for each of the experiment's evaluators.

  Args:
    program: the program that gets the nodes, in one new group. Without
      evaluators there is no such group.
    experiment: the experiment to run.
    variables: the handle of the variable server.
    counter: the handle of the counter.
  """
  if not experiment.num_evaluators:
    return
  with program.group('evaluator'):
    for evaluator_id in range(experiment.num_evaluators):
      program.add_node(
        worker.Node(
          processes.evaluator, experiment, variables, counter, evaluator_id
        )
      )
