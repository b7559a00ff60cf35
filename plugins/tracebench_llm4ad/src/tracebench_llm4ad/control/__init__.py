"""Five classic control tasks: the candidate steers, the environment stays with us."""
