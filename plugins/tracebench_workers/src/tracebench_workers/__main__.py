"""`python -m` entry of a run's own workers."""

from __future__ import annotations

from tracebench_workers.command import app

if __name__ == "__main__":
    app()
