"""From a model's probabilities to phrases.

Options, rules and phrases need no torch; `decoder` and `strategies` search with torch models.
"""
