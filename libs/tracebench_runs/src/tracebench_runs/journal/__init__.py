"""The journal of a run, its keys and its witnesses: what can be trusted of a directory."""
