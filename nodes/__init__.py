"""What one process of the program does while it runs: a file for each role."""
