"""Calibrations: a task's cases of known outcome, measured as any candidate is, and judged."""
