"""Writes recorded episodes, reads them, and makes batches to learn from."""
