"""What trainers and proposers share: what a model is shown and told, what its answers mean, which examples to draw, when to stop."""
