"""Ways to ask Lean: its command line, a Lake project, the REPL, a Kimina server; each returns the same diagnostics."""
