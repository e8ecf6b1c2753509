"""Nests of arrays: taken apart, checked, described, and built again.

- `structure`: splits a nest into containers and leaves, and builds it again.
- `structure_json`: writes a structure as text, and reads it.
- `signatures`: describes what a table holds.
- `leaves`: checks leaves against a table's signature, and casts them.
"""
