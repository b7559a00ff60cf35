"""LLM4AD for Trace-Bench: algorithm-design tasks with full descriptions, right signs and held-out instances."""
