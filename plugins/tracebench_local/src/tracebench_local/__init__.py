"""A language model on this machine, for runs without a key or a network."""
