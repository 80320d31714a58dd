"""What scores leave out: where, how, and how surely systems differ."""
