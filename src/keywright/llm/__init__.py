"""Large language models behind an OpenAI-compatible endpoint, as predictors of keyphrases."""
