"""Benchmarks: scripts that print ratios, never asserted as timed tests."""
