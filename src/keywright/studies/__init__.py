"""A table of a paper as one TOML file: systems, data sets, decoders, metrics and comparisons.

`definition` reads and checks the file, `plan` turns it into steps with digests, `run` makes what is
missing, and `results` and `tables` score the predictions and lay the scores out.
"""
