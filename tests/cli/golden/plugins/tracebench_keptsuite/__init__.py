"""A suite of tasks for Trace-Bench."""
