"""A run's policy after the run: exported, loaded, played and filmed.

`policy`, `nests` and `functions` can be imported where this program's other
packages are not installed. So this file imports nothing.
"""
