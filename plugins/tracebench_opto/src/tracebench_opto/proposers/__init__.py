"""Trace's optimizers behind the port that every trainer uses."""
