"""What a plan will use, and what past runs teach about it."""
