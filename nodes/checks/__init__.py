"""Refuses numbers that are not finite, before they reach replay or weights."""
