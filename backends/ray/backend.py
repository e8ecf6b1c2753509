"""A run on the nodes of a Ray cluster; this process is its launcher."""

import importlib.util

from backends import api, launcher_process


class RayBackend(launcher_process.LauncherBackend):
  """Has Ray choose a node for each task of a program."""

  FLAGS = (
    api.Flag(
      'ray_address',
      'auto',
      'Host and port of the Ray cluster; this machine is one of its nodes.',
    ),
  )

  def __init__(
    self, name: str, resources: api.ResourcesByLabel, ray_address: str = 'auto'
  ):
    self.name = name
    self.resources = resources
    self._address = ray_address

  def check(self, run_dir, dry_run):
    del run_dir, dry_run
    if importlib.util.find_spec('ray') is None:
      raise api.RefusedError(
        "--backend=ray needs a package: pip install 'launchpad-rl[ray]'"
      )

  def run(self, make_program, *, config, on_line, resize=None):
    from backends.ray import driver, placement

    try:
      return placement.run(
        make_program,
        address=self._address,
        resources=self.resources,
        config=config,
        on_line=on_line,
        resize=resize,
      )
    except driver.NoClusterError as e:
      raise api.RefusedError(f'--ray_address: {e}') from e
