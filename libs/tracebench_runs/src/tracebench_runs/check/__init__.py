"""Whether a run directory is consistent, mending it, and going on from what is left."""
