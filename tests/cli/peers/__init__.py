"""Logs that inspect_ai and lm-evaluation-harness write themselves, compared."""
