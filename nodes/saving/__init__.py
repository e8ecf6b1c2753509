"""What a process saves, so that it can go on after a restart or a resume."""
