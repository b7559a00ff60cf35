"""Six law-finding tasks: the candidate gives the form of an equation, its constants are fitted, unseen data judge it."""
