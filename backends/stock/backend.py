"""A run by one of Launchpad's own launch types; no launcher restarts tasks."""

import time

from backends import api
from backends.supervision import result as result_lib
from system import stops


class StockBackend(api.Backend):
  """Has Launchpad run a program by one of its own launch types."""

  IS_SUPERVISED = False
  USES_THIS_MACHINE = True

  def __init__(self, name: str, resources: api.ResourcesByLabel):
    """Checks that there are no resources.

    Args:
      name: one of Launchpad's launch types.
      resources: must be empty.

    Raises:
      RefusedError: there are resources. Launchpad cannot limit them.
    """
    if resources:
      raise api.RefusedError(
        f'--resources: --lp_launch_type={name} cannot limit resources'
      )
    self.name = name
    self.resources = resources

  def run(self, make_program, *, config, on_line, resize=None):
    import launchpad as lp

    del config, on_line, resize
    began = time.monotonic()
    program = make_program()
    # Launchpad handles signals itself.
    stops.give_up()
    running = lp.launch(program, self.name, terminal='current_terminal')
    if running is not None:
      running.wait()
    # Launchpad does not tell how the tasks ended, so the exit code is 0.
    return result_lib.Result(0, None, {}, (), time.monotonic() - began)
