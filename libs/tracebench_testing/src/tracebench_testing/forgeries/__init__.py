"""Programs that try to score without the work, and trying them."""
