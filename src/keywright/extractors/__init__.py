"""Extractors: predictors that select phrases of the text. They need no torch.

An extractor is a part: a module with `Config` and `build(config) -> Predictor`.
"""
