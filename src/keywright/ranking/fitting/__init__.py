"""How a ranker is fitted; only `keywright fit-ranker` needs this."""
