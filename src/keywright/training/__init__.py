"""Training: a loop that can be stopped at any moment and goes on as if it never had been."""
