"""Recorded runs that `trace-bench demo NAME` repeats."""
