"""Prediction formats, one file each: `recognise(head) -> bool` and `read(path, bad)`."""
