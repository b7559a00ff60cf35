"""What thirty light plugins cost a command: `python benchmarks/many_plugins.py [ROUNDS]`.

Each of thirty distributions has one plugin with a suite of three tasks. The ratio is of the smallest CPU times over the rounds, with them
and without, taken in turn: other processes on the machine only add.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cli_start import COMMAND, cpu_seconds

MANY = 30
GOALS = {"--help": 1.3, "list-tasks": 2.0}
SOURCE = """
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import SuiteSpec, TaskSpec

@hookimpl
def tracebench_suite():
    return SuiteSpec(title="Many {i}", licence="MIT")

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=f"t{{j}}", loader="many_{i}:build", title="A task") for j in range(3)]
"""


def install(site: Path) -> list[str]:
    """Put the distributions into a folder; return the names of their plugins."""
    for i in range(MANY):
        info = site / f"many_{i}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: many-{i}\nVersion: 1.0\nRequires-Dist: tracebench-core>=0.1,<1\n"
        )
        (info / "entry_points.txt").write_text(f"[tracebench]\nmany{i} = many_{i}\n")
        (site / f"many_{i}.py").write_text(SOURCE.format(i=i))
    return [f"many{i}" for i in range(MANY)]


def main() -> None:
    """Measure both commands with and without the plugins, in turn."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with TemporaryDirectory() as place:
        site = Path(place) / "site"
        names = install(site)
        clean = {k: v for k, v in os.environ.items() if k not in {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}}
        clean["PYTHONPYCACHEPREFIX"] = str(Path(place) / "cache")
        none = {**clean, "TRACEBENCH_PLUGINS": ""}
        many = {**clean, "TRACEBENCH_PLUGINS": ",".join(names), "PYTHONPATH": str(site)}
        best = {(name, with_them): float("inf") for name in GOALS for with_them in (False, True)}
        listed = subprocess.run([COMMAND, "list-tasks"], env=many, capture_output=True, text=True, check=True).stdout
        if sum(line.startswith("many") for line in listed.splitlines()) != 3 * MANY:
            sys.exit("the plugins are not all listed")
        for number in range(rounds + 1):
            for name, with_them in [*best]:
                seconds = cpu_seconds([COMMAND, name], many if with_them else none)
                if number:  # the first compiles
                    best[name, with_them] = min(best[name, with_them], seconds)
    for name, goal in GOALS.items():
        ratio = best[name, True] / best[name, False]
        told = "met" if ratio <= goal else "not met"
        print(
            f"{name:<11} {best[name, False]:.3f} s with none, {best[name, True]:.3f} s with {MANY}: {ratio:.2f}x (goal {goal}x: {told})"
        )


if __name__ == "__main__":
    main()
