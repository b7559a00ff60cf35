"""The programs, examples and guides of the core's own suites."""
