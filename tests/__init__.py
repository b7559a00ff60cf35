"""Tests, and what they share. A package, so that none of that name in an environment is found in its place."""
