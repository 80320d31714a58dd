"""One file per kind of model vocabulary; `keywright.lexicon` says what each of them provides."""
