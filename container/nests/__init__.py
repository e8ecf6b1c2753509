"""Nests of arrays: taken apart, checked, described, and built again.

- `structure`: the containers of a nest, apart from its leaves.
- `structure_json`: a structure as text.
- `signatures`: what a table holds.
- `leaves`: leaves checked against a table, and cast.
"""
