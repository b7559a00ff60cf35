"""Logs that other programs wrote of models on questions: read, matched question by question, compared."""

GIVEN = "Given"
"""The trainer that measures the candidate of its settings."""
