"""Equations to be found from noisy data."""
