"""Learnt scorers of pairs of phrases: FB of Luo et al. (2021), section 3.4."""
