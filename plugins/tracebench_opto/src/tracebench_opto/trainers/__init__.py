"""Search trainers written on `Problem` alone, one module each; `specs` lists them without importing any."""
