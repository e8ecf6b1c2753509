"""What runs: experiments, agents, environments, and the program graph."""
