"""Experiments, agents, environments, and the program graph that runs them."""
