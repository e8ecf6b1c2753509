"""Calls between the tasks of a run, each of which hears its own run alone."""
