"""From a model's reply to new files: blocks, diffs, whole files."""
