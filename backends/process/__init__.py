"""One process of a run: how it starts, and what it is told."""
