"""From characters to stems: tokenise, stem, find phrases in texts."""
