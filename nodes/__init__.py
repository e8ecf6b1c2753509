"""How one process of the program lives: one file a role, its node and handle."""
