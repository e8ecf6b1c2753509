"""Code that several benchmarks share: processes, peers, hosts, programs."""
