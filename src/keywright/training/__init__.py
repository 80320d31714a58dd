"""Training: a loop that can be stopped at any moment and continued to the same result."""
