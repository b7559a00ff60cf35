"""Logs that other programs wrote of models on questions: read, matched question by question, compared."""
