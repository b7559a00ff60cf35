"""The run directory, format version 1: how a run is written, reduced, read, checked and mended."""
