"""Experiment trackers for Trace-Bench."""
