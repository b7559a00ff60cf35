"""Combinatorial problems solved step by step: the candidate chooses the next step, trusted code takes it."""
