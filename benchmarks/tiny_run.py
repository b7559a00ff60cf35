"""How long the smallest run takes, whole command, as a ratio to one interpreter that imports what a run imports.

    python benchmarks/tiny_run.py [rounds]

One job, `internal:numeric_param` x `NoOp`. The smallest wall time and the smallest processor time (of the command and all that it waited
for) over the rounds count: other processes on the machine only add. Rounds are interleaved, bytecode is cached.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

COMMAND = str(Path(sys.executable).with_name("trace-bench"))
IMPORTS = "import tracebench_engine.cli.app, tracebench_engine.api.running, tracebench_engine.builtin.template_main"
CONFIG = "tasks: [internal:numeric_param]\ntrainers: [NoOp]\nmode: stub\n"
GOAL = 0.65


def measured(argv: list[str], environ: dict[str, str], folder: str) -> tuple[float, float]:
    """Run a command; return its wall and processor seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ, cwd=folder)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
            measured(argv, environ, folder)
        seen = {name: [] for name in commands}
        for _ in range(rounds):
            for name, argv in commands.items():
                seen[name].append(measured(argv, environ, folder))
    wall, cpu = ({name: min(pair[kind] for pair in pairs) for name, pairs in seen.items()} for kind in (0, 1))
    for name in commands:
        print(
            f"{name:<13}  {wall[name]:.2f} s = {wall[name] / wall['imports alone']:.2f}x;"
            f" processors {cpu[name]:.2f} s = {cpu[name] / cpu['imports alone']:.2f}x"
        )
    print(f"goal: {GOAL} s: {'met' if wall['one tiny run'] <= GOAL else 'not met'}")


if __name__ == "__main__":
    main()
