"""Candidates from the text, from known keyphrases and from a generator, judged together.

A `Ranker` (see `model`) lists what could be a keyphrase of a document and gives each candidate the
probability that it is one. It learns from counts over a training corpus (`phrasebook`), from a
linear topic model (`topics`) and from boosted trees (`trees`); `training.ranker` fits all three.
"""
