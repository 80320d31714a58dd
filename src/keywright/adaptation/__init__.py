"""Adapting a ranker to a user's own documents and keyphrases: see `ranking.adapted`.

It needs neither torch nor scikit-learn: what a few hundred documents can teach are counts and a
logistic regression.
"""
