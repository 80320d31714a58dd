"""Keyphrases inside other libraries; each file needs the library it is named after."""
