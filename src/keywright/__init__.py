"""keywright: keyphrase generation, evaluation and calibration."""

__version__ = "0.1.0"
