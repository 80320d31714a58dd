"""Metrics as values: `present.F1@5` parses to one and prints back.

A metric is a handful of per-document columns and a function of their sums (`_base.Measure`), so a
corpus score, a document's score, a bootstrap resample and a permutation are the same computation
on different sums. Each file here names its measures in `MEASURES`; adding one touches no other.
"""
