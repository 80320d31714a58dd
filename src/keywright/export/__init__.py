"""Trained models as ONNX graphs, checked against the originals when they are written."""
