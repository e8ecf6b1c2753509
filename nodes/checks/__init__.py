"""Refuses NaNs and infinities before they reach replay or the weights."""
