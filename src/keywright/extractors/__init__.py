"""Extractors: predictors that take phrases from the text. They need no torch.

An extractor is a part: `Config`, and `build(config) -> Predictor`.
"""
