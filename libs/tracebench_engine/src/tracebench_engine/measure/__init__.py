"""Measuring: the one road from a candidate to scores and feedback, for trainers and for the engine alike."""
