"""One file per published model, composing `nn/`: `Config`, `PARADIGM` and `build`."""
