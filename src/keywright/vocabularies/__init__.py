"""Controlled vocabularies: terms with their synonyms, and the term that a phrase means."""
