"""How long the command takes to start, as a ratio to importing the libraries that it stands on, measured in one run.

    python benchmarks/cli_start.py [rounds]

The smallest CPU time (user and system, of the child) over the rounds counts: other processes on the machine only add. Bytecode is
cached, in a folder of the benchmark's own, as it is wherever the package is installed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

COMMAND = str(Path(sys.executable).with_name("trace-bench"))
BASE = [sys.executable, "-c", "import typer, rich, pydantic, pluggy, yaml"]
GOALS = {"--help": 1.2, "list-tasks": 1.8}


def cpu_seconds(argv: list[str], environ: dict[str, str]) -> float:
    """Run a command and return the CPU seconds of its process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure all commands in turn, round by round, so that a change of load meets them alike."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    commands = {"imports alone": BASE} | {name: [COMMAND, name] for name in GOALS}
    best = dict.fromkeys(commands, float("inf"))
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as cache:
        environ["PYTHONPYCACHEPREFIX"] = cache
        for argv in commands.values():
            cpu_seconds(argv, environ)
        for _ in range(rounds):
            for name, argv in commands.items():
                best[name] = min(best[name], cpu_seconds(argv, environ))
    base = best["imports alone"]
    print(f"imports alone  {base:.3f} s")
    for name, goal in GOALS.items():
        ratio = best[name] / base
        print(f"{name:<13}  {best[name]:.3f} s  {ratio:.2f}x  (goal {goal}x: {'met' if ratio <= goal else 'not met'})")


if __name__ == "__main__":
    main()
