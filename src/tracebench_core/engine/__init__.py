"""Running: plan the matrix, hold every job in its own process, meter it, keep what happened."""
