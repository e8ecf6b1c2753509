"""What a container does for each of its tables.

- `connection`: calls to a Reverb server, each with a deadline.
- `checked_table`: calls about one table, as long as it is the same table.
- `shared_copy`: the host cache as one client uses it, or does without it.
- `versions`: which of two items is newer, and what version it is.
- `table_client`: the newest values of one table, in whatever way they came.
- `metrics`: what a container counts.
"""
