"""Calls between the tasks of a run, which answer no caller of another run."""
