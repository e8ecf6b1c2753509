"""Each figure in README and docs, as a command that measures it again.

A benchmark measures this program beside a peer, in the same run where it can:
only ratios mean the same on another machine.
"""
