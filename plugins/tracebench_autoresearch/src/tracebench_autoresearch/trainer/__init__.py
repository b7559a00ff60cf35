"""The loop: propose, measure, decide, keep or revert."""
