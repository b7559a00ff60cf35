"""A trainer for Trace-Bench."""
