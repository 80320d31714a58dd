"""From a model's predictions to keyphrases a reader can use: where they stand, how sure they are.

Nothing here knows a model: windows go to a predictor, phrases come back.
"""
