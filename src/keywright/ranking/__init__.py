"""Candidates from the text, from known keyphrases and from a generator, ranked together.

A `Ranker` (see `model`) lists what could be a keyphrase of a document and gives each candidate the
probability that it is one. It uses counts over a training corpus (`phrasebook`), a linear topic
model (`topics`), a network that reads the words in their order (`span_tagger`) and boosted trees
over all of these (`trees`); `fitting.ranker` fits them.
"""
