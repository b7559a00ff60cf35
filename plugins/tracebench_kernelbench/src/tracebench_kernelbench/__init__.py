"""Kernels that are built from a candidate's source, judged against a reference, and timed where they cannot reach the clock."""
