"""What runs say and what designs could say: estimates before a run, re-reductions after it. Pure functions over jobs and events."""
