"""Commands that read runs: one, several side by side, or as files."""
