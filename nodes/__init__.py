"""What each process of the program does while it runs: one file per role."""
