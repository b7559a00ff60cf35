"""`python -m tracebench_core.cli`: the `trace-bench` command where no script is installed."""

from __future__ import annotations

from tracebench_core.cli.app import main, program

__all__ = ["main"]

if __name__ == "__main__":
    program()
