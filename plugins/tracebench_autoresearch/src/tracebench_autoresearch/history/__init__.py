"""A job read as its users know it: a table of experiments, and commits."""
