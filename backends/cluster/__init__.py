"""A run over several nodes: a daemon on each, and the launcher's side of it."""
