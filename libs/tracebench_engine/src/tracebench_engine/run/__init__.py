"""A run: its directory, its jobs on an executor, its helpers, what it is told while it runs, and how it goes on after an end."""
