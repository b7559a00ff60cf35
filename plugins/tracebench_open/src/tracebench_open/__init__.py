"""Results that others can check: what was promised before the first call, beside what was run."""
