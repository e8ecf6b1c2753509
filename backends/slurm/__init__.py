"""A run on the nodes of a Slurm job."""
