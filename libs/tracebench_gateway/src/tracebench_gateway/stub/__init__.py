"""The stub model: proposes seed-determined mutations of the values that a prompt shows. It is no language model."""
