"""Checks: the machine, a config, tasks as instruments, before anything is run."""
