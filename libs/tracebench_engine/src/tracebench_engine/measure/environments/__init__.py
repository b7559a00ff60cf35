"""Environments of a run: opened at their first use, and closed by a process that outlives jobs and runner."""
