"""`python -m` entry of workers that a program starts: the run's own, and those that something places for it."""

from __future__ import annotations

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api.console import output
from tracebench_workers.command import app

if __name__ == "__main__":
    try:
        app()
    except TraceBenchError as err:
        output.note(f"error: {output.safe(str(err))}")
        raise SystemExit(err.exit_code) from None
