"""A launcher and its nodes on several machines."""
