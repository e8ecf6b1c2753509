"""The launcher, which watches over the tasks of a run."""
