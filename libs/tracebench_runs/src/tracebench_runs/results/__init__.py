"""What came of a run: results of its jobs, and the tables over them."""
