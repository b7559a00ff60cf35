"""Kernels for a graphics processor: the judge's process owns memory and events, the candidate's gets handles to them."""
