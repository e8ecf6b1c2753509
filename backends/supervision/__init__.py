"""The launcher: it starts, restarts and stops the tasks of a run."""
