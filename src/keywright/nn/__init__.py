"""Building blocks of neural models: layers, and the contracts of models and generators."""
