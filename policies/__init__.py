"""Exports a run's policy, loads it again, plays with it and makes videos.

`policy`, `nests` and `functions` can be used where this program's other
packages are not installed. So this file must not import anything.
"""
