"""The local executor: a warm template process forks one process per job, ends them on time, and dies with its runner."""
