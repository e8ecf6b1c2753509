"""What a process saves so that another can go on in its place."""
