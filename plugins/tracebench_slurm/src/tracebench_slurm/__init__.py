"""Jobs of a run on workers that Slurm places."""
