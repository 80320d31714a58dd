"""What scores leave out: where and how systems differ, and how certain that is."""
