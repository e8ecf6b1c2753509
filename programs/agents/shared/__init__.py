"""What several agents share: settings and their limits, networks, spaces."""
