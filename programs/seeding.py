"""Random keys: one stream a process, all from the experiment's seed."""

import zlib

import jax


def process_key(seed: int, role: str, index: int = 0) -> jax.Array:
  """Returns the key of one process, independent of how many others there are.

  Called in the process itself: a key made in the launcher would start JAX
  there, and with it take the accelerator.

  Args:
    seed: the experiment's.
    role: the process's group, such as `actor`.
    index: the process's place in its group.

  Returns:
    A raw uint32[2] key.
  """
  key = jax.random.PRNGKey(seed)
  key = jax.random.fold_in(key, zlib.crc32(role.encode()))
  return jax.random.fold_in(key, index)
