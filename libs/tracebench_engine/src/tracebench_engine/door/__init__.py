"""The door: a program of any language as a job's trainer, how it is held, and where runs under way are found."""
