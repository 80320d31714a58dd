"""One file per decoding strategy, written once over `nn.generator`."""
