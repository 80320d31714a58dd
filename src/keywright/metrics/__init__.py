"""Metrics as values: `present.F1@5` is parsed to a metric, which prints as that name.

A metric is a few columns of numbers per document and a function of their sums (`metric.Measure`),
so a corpus score, a document's score, a bootstrap resample and a permutation are the same
computation on different sums. Each file lists its measures in `MEASURES`; a new file needs no other
change.
"""
