"""A run on this machine, each task a supervised process."""

import dataclasses

from backends import api, launcher_process


class LocalBackend(launcher_process.LauncherBackend):
  """Runs a program as processes of this machine."""

  FLAGS = (
    api.Flag(
      'refuse_open_ports',
      False,
      'Refuse to begin on this machine if the kernel does not let the run keep '
      'other machines off its ports; without this flag, the run says so and '
      'goes on.',
    ),
  )
  USES_THIS_MACHINE = True

  def __init__(
    self,
    name: str,
    resources: api.ResourcesByLabel,
    refuse_open_ports: bool = False,
  ):
    self.name = name
    self.resources = resources
    self._refuse_open_ports = refuse_open_ports

  def run(self, make_program, *, config, on_line, resize=None):
    from backends.local import this_machine

    config = dataclasses.replace(
      config, refuse_open_ports=self._refuse_open_ports
    )
    try:
      return this_machine.run(
        make_program,
        config=config,
        on_line=on_line,
        say_cause=False,
        resize=resize,
      )
    except this_machine.OpenPortsError as e:
      raise api.RefusedError(f'--refuse_open_ports: {e}') from e
