"""What a run shows on the terminal and leaves in its run directory.

A folder of its own because every process writes metrics, and the launcher reads
them all when the run has ended.
"""
