"""From a model's predictions to keyphrases for readers, with their places and probabilities.

Nothing here depends on a particular model: windows go to a predictor, and phrases come back.
"""
