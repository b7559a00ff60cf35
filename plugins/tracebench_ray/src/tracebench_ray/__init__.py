"""Jobs of a run on workers that Ray places."""
