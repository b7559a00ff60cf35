"""Statistics of few seeds and many tasks."""
