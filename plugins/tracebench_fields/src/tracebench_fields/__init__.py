"""Fields with known optima, drawn from seeds that nobody can tune to, and a scripted model of stated quality."""
