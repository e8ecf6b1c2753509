"""How one process of the program lives: a file for each role."""
