"""One file per published model; `keywright.nn.model` has the contract."""
