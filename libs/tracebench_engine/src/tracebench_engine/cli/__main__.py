"""`python -m tracebench_engine.cli`: the `trace-bench` command where no script is installed."""

from __future__ import annotations

from tracebench_engine.cli.entry import program


def main() -> None:
    """Run the command line of this process and exit with its code."""
    from tracebench_engine.cli.app import main as command

    command()


if __name__ == "__main__":
    program()
