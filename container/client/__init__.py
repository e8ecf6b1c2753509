"""What a container does for each of its tables.

- `connection`: calls to a Reverb server, each with a deadline.
- `checked_table`: calls about one table, whose signature must stay the same.
- `shared_copy`: one client's use of the host cache.
- `versions`: which of two items is newer, and which version an item has.
- `table_client`: the newest values of one table.
- `metrics`: what a container counts.
"""
