"""Recorded episodes: written, read, and learned from."""
