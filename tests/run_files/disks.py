"""Disks that are full, for as long as a test needs them."""

import contextlib
import resource
from collections.abc import Iterator


@contextlib.contextmanager
def full(num_bytes: int = 0) -> Iterator[None]:
  """Lets no file of this process or its children grow while the body runs.

  Args:
    num_bytes: the largest size that a file may get. As on a full disk, a part
      of what is written may still fit.
  """
  soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
  try:
    yield
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
