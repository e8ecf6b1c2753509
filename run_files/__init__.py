"""The files of a run: where they are, and how they are written and read."""
