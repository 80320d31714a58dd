"""The phrases of a collection on one page: frequent, rising, together, and where they occur."""
