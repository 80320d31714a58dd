"""Controlled vocabularies: terms with their synonyms, and the look-up of phrases in them."""
