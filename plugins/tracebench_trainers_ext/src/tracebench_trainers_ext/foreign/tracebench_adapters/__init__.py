"""Runs inside the library's interpreter: needs the standard library, `tracebench_client` and the one library."""
