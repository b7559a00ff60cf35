"""From a repository to its `experiment.yaml`: what is run, what is read, how much it varies."""
