"""The matrix: which jobs a config asks for, where each starts, what each costs, and by which seeds and salts."""
