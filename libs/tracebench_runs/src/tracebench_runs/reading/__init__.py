"""A run as a reader sees it: its jobs, its records, its tables and frames."""
