"""What is read off source text without running it."""
