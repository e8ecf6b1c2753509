"""Calls between the tasks of a run, which hear that run alone."""
