"""CO-Bench: combinatorial optimisation on OR-Library's files, from a folder, with evaluators of our own."""
