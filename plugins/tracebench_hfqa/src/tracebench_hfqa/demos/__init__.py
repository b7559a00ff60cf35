"""Recorded runs that `trace-bench replay --demo <name>` repeats."""
