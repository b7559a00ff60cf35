"""Packing, online and multi-objective tasks that are no step-by-step construction."""
