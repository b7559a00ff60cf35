"""Trainers of a newer opto, found in the installed build, tried out before they are offered, and run on our own problem."""
