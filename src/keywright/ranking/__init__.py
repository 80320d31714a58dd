"""Candidates from the text, from known keyphrases and from a generator, judged together.

A `Ranker` (see `model`) lists what could be a keyphrase of a document and gives each candidate the
probability that it is one. It knows counts over a training corpus (`phrasebook`), a linear topic
model (`topics`), a network that reads the text in its order (`marker`) and boosted trees that weigh
all of it (`trees`); `training.ranker` fits them.
"""
