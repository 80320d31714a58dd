"""Whether a model's confidence can be trusted, and how to put it right where it cannot."""
