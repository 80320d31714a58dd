"""Whether a model's confidence can be trusted, and how to correct it where it cannot."""
