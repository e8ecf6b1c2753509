"""What several benchmarks share: processes, peers, hosts, whole programs."""
