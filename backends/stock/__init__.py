"""A run by one of Launchpad's own launch types, on this machine."""
