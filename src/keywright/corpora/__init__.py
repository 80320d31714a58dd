"""Corpora as the papers made them, from what their sources publish."""
