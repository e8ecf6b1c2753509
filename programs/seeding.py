"""Random keys: one for each process, all derived from the experiment's seed."""

import zlib

import jax


def process_key(seed: int, role: str, index: int = 0) -> jax.Array:
  """Returns the key of one process; the number of processes has no influence.

  Call this in the process itself: to make a key starts JAX, which would take
  the accelerator for the launcher.

  Args:
    seed: the experiment's seed.
    role: the process's group in the program, such as `actor`.
    index: the process's place in its group.

  Returns:
    The key's data, uint32[2].
  """
  key = jax.random.PRNGKey(seed)
  key = jax.random.fold_in(key, zlib.crc32(role.encode()))
  return jax.random.fold_in(key, index)
