"""The folder that a foreign program gets on its PYTHONPATH: one file, which needs nothing of ours."""
