"""Curves, charts and pictures."""
