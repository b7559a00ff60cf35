"""Recorded runs that `trace-bench demo NAME` repeats; `benchmarks/packing_demo.py` records `packing`."""
