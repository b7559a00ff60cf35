"""Experiments on whole repositories: edits that are kept or reverted by evidence."""
