"""What the conformance kit stands on: the engine's own parts, one by one. Plugins import none of it: it moves with the engine."""
