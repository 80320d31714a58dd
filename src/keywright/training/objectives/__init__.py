"""One file per training objective; `keywright.training.objective` has the contract."""
