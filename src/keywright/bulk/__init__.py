"""Keyphrases of millions of documents, in shards that are each made exactly once.

`plan` cuts the input into shards, which the manifest of the output folder lists; `shard` makes one
shard, the same bytes wherever and however often it is made; an engine (`engines/`) decides where
that happens; `run` brings them together. What is in the output folder is the only state.
"""
