"""Random keys: one for each process, all derived from the experiment's seed."""

import zlib

import jax


def process_key(seed: int, role: str, index: int = 0) -> jax.Array:
  """Returns the key of one process. It does not depend on how many there are.

  Call this in the process itself, not in the launcher: making a key starts JAX,
  and JAX would occupy the accelerator.

  Args:
    seed: the experiment's seed.
    role: the process's group in the program, such as `actor`.
    index: the process's index in its group, from 0.

  Returns:
    The key's data, uint32[2].
  """
  key = jax.random.PRNGKey(seed)
  key = jax.random.fold_in(key, zlib.crc32(role.encode()))
  return jax.random.fold_in(key, index)
