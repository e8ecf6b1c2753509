"""Commands that measure the figures in README and docs again.

A benchmark compares this program with a peer, in the same run if possible. Only
the ratios can be compared with those of another machine.
"""
