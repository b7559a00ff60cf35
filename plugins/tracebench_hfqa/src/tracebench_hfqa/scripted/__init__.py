"""Dialogues in which a model uses tools: an environment that a row describes, and a user whose words are written beforehand."""
