"""Where Lean problems come from."""
