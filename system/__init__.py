"""Signals, streams, processes and folders: calls to the operating system."""
