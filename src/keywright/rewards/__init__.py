"""One file per reward; `keywright.reward` has the contract."""
