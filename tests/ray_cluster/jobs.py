"""A run on a Ray cluster, as the tests see it."""

from tests.e2e import runs


class Run(runs.Run):
  """A run whose launcher is a driver of Ray."""

  def __init__(self, run_dir, cluster):
    super().__init__(run_dir)
    self._address = cluster.address

  def launch(self, *flags):
    return super().launch(
      '--backend=ray', f'--ray_address={self._address}', *flags
    )

  def states(self):
    return {name: task.state for name, task in self.tasks().items()}

  def are_running(self, label, count):
    """Returns whether a label has so many tasks, all of which run."""
    states = [s for n, s in self.states().items() if n.startswith(f'{label}/')]
    return states == ['running'] * count
