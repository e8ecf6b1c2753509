"""The distributed program: every node and every edge between them, on one page.

          counts, stop rule
counter <------------------- everyone

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

# A server may still have to import a lot when its first client asks for it.
_CONNECT_SECONDS = 300.0


def make_program(
  experiment: experiment_lib.ExperimentConfig,
  num_actors: int,
  name: str = 'agent',
) -> lp.Program:
  """Wires an experiment into one Launchpad program.

  Args:
    experiment: what to run.
    num_actors: how many actor processes.
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
  """Adds the server through which learner, actors and evaluators share weights.

  Args:
    program: gets the node, in a group of its own.
    experiment: what to run.

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
  """Adds the process that counts for all others, and stops at the limits.

  Args:
    program: gets the node, in a group of its own.
    experiment: what to run.

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
    program: gets the nodes, in one group, if there are any.
    experiment: what to run.
    variables: where evaluators find the newest weights.
    counter: counts for the whole program.
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
