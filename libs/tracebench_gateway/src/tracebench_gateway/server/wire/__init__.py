"""The wires: each reads its own requests into one form, and writes answers of that form in its own words."""
