"""A backend of one file: it prints which tasks it would run."""

from backends import api
from backends.supervision import result as result_lib


class PrintingBackend(api.Backend):
  """Prints the plan of a program and runs nothing."""

  FLAGS = (api.Flag('bullet', '-', 'What each line of the plan begins with.'),)
  IS_SUPERVISED = False

  def __init__(self, name, resources, bullet='-'):
    self.name = name
    self.resources = resources
    self._bullet = bullet

  def run(self, make_program, *, config, on_line, resize=None):
    for label, nodes in make_program().groups.items():
      print(self._bullet, label, len(nodes))
    return result_lib.Result(0, None, {}, (), 0.0)
