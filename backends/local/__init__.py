"""A run on this machine."""
