"""How long the smallest run takes, whole command, as a ratio to one interpreter that imports what a run imports.

    python benchmarks/tiny_run.py [rounds]

One job, `internal:numeric_param` x `NoOp`. The smallest wall time and the smallest processor time (of the command and all of its
descendants) over the rounds count: other processes on the machine only add. Rounds are interleaved, bytecode is cached.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from descendants import watch

COMMAND = str(Path(sys.executable).with_name("trace-bench"))
IMPORTS = "import tracebench_engine.cli.app, tracebench_engine.api.running, tracebench_engine.builtin.template_main"
CONFIG = "tasks: [internal:numeric_param]\ntrainers: [NoOp]\nmode: stub\n"
GOAL = 0.65


def main() -> None:
    """Measure both in turn, round by round, and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as folder:
        Path(folder, "tiny.yaml").write_text(CONFIG)
        commands = {
            "imports alone": [sys.executable, "-c", IMPORTS],
            "one tiny run": [COMMAND, "run", "--config", "tiny.yaml", "--runs-dir", "runs"],
        }
        for argv in commands.values():
            watch(*argv, folder=folder, environ=environ)
        seen = {name: [] for name in commands}
        for _ in range(rounds):
            for name, argv in commands.items():
                seen[name].append(watch(*argv, folder=folder, environ=environ))
    wall = {name: min(used.wall for used in rounds) for name, rounds in seen.items()}
    cpu = {name: min(used.cpu for used in rounds) for name, rounds in seen.items()}
    for name in commands:
        print(
            f"{name:<13}  {wall[name]:.2f} s = {wall[name] / wall['imports alone']:.2f}x;"
            f" processors {cpu[name]:.2f} s = {cpu[name] / cpu['imports alone']:.2f}x"
        )
    print(f"goal: {GOAL} s: {'met' if wall['one tiny run'] <= GOAL else 'not met'}")


if __name__ == "__main__":
    main()
