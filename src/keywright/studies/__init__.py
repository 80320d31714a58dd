"""A table of a paper as one TOML file: systems, data sets, decoders, metrics and comparisons.

`definition` says what the file contains, `loading` reads it, `checks` and `drawable` find what is
wrong with it; `plan` turns it into steps with digests, `run` makes what is missing, `results`
scores the predictions, and `tables` and `figures` show the scores.
"""
