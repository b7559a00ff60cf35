"""Print what kernels are worth that do their work 1, 2, 5 and 10 times over, and against themselves: all problems and backends.

    python benchmarks/kernelbench_tables.py [--root CHECKOUT] [--minutes 14] [--state FILE] [--only WORDS]...

A line is printed and kept in FILE as soon as it is measured; a command that ran out of minutes, or was stopped, goes on there when it is
given again, and prints all of it, and what is left. No line is begun when the minutes are over; one of `torch_compile` takes minutes.
Lines of other code are left out. `--only "torch cpu/level1/2"` means that line, `--only level1` all that hold the word. Without a
checkout of KernelBench a linear layer stands for its modules.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from kernelbench import MODULE

import tracebench_kernelbench
from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.errors import MissingRequirementError
from tracebench_kernelbench.calibrations import PARAMETER, TIMES, of_c, of_module, of_numba
from tracebench_kernelbench.judging import Verdict, judge
from tracebench_kernelbench.modules.backends import BACKENDS, NUMBA, TORCH, loaded_beforehand
from tracebench_kernelbench.modules.exercise import ModuleExercise, OwnExercise
from tracebench_kernelbench.modules.source import at_cpu_sizes, cpu_sizes, find_problems, refused
from tracebench_kernelbench.modules.stepping import judge_python
from tracebench_kernelbench.modules.task import renamed
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_sandbox import open_sandbox

EFFORT = Effort(compile_seconds=600.0)
REPEATED = {"torch": {(1, 2), (1, 42), (2, 1)}, "torch_compile": {(1, 42)}, "cpp": {(1, 42)}}
"""Level and number of modules whose work is repeated, by backend; the others are compared with themselves."""
WITHIN = 0.15
"""How far from its share a multiple may be, as calibrations demand."""
Judged = Callable[[Sandbox, str], Verdict]
Row = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """One line of the table: a problem with a backend, and the sources to measure, by what they are."""

    backend: str
    problem: str
    sources: Mapping[str, str]
    judged: Judged

    @property
    def key(self) -> str:
        """What names the line."""
        return f"{self.backend} {self.problem}"

    def measure(self, sandbox: Sandbox) -> Row:
        """Return the ratios of all sources to the reference, and the noise of the plain one."""
        began, seen = time.perf_counter(), dict[str, float]()
        row: Row = {"key": self.key, "noise": 0.0}
        for name, source in self.sources.items():
            try:
                verdict = self.judged(sandbox, source)
            except (NotMeasured, MissingRequirementError) as err:
                return row | {"why": str(err).splitlines()[0]}
            if not verdict.correct:
                return row | {"why": f"{name}: {verdict.text.splitlines()[0]}"}
            seen[name] = verdict.metrics["speedup_raw"]
            if name == "plain":
                row["noise"] = verdict.metrics["noise"]
        return row | {"seen": seen, "load": os.getloadavg()[0], "seconds": time.perf_counter() - began}


def units(root: Path | None) -> Iterator[Unit]:
    """Yield all lines, those first of which there are few."""
    modules = {(0, 0): ("module", MODULE)} if root is None else dict(_modules(root))
    for backend, chosen in REPEATED.items():
        for place, (name, code) in modules.items():
            if place in chosen or root is None:
                yield _of_module(name, code, backend, repeated=True)
    for name, problem in PROBLEMS.items():
        yield Unit(
            "c", name, _sources(of_c(problem)), lambda sandbox, source, p=problem: judge(p, source, sandbox, EFFORT)
        )
    for place, (name, code) in modules.items():
        if place not in REPEATED["torch"] and root is not None:
            yield _of_module(name, code, "torch", repeated=False)
    for name, problem in PROBLEMS.items():
        exercise = OwnExercise(problem)
        yield Unit(
            "numba",
            name,
            _sources(of_numba(problem)),
            lambda sandbox, source, e=exercise: judge_python(e, source, sandbox, EFFORT),
        )


def _modules(root: Path) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    for problem in find_problems(root):
        place = (problem.level, problem.number)
        if place in cpu_sizes() and not refused(problem, at_cpu_sizes=True):
            yield place, (f"cpu/level{place[0]}/{place[1]}", at_cpu_sizes(*place, problem.read()))


def _of_module(name: str, code: str, backend: str, *, repeated: bool) -> Unit:
    exercise = ModuleExercise(code, BACKENDS[backend])
    sources = _sources(of_module(renamed(code), backend, timed=True))
    chosen = sources if repeated else {"plain": sources["plain"]}
    return Unit(backend, name, chosen, lambda sandbox, source: judge_python(exercise, source, sandbox, EFFORT))


def _sources(cases: Any) -> Mapping[str, str]:
    named = {case.name: str(case.values[PARAMETER]) for case in cases}
    return {name: named[name] for name in ("plain", "itself", *(f"times-{n}" for n in (1, *TIMES))) if name in named}


def shown(row: Row) -> str:
    """Return a line of the table."""
    backend, problem = row["key"].split(" ", 1)
    if "why" in row:
        return f"| {backend} | `{problem}` | not measured: {row['why']} |"
    seen = row["seen"]
    base = seen.get("times-1", seen["plain"])
    cells = [f"{seen['plain']:.3f}", f"{100 * row['noise']:.1f} %"]
    cells += [f"{seen['itself'] / seen['plain']:.3f}" if "itself" in seen else ""]
    cells += [f"{seen[name] / base:.3f}" if (name := f"times-{times}") in seen else "" for times in TIMES]
    return f"| {backend} | `{problem}` | {' | '.join(cells)} | {row['load']:.1f} |"


def summary(rows: list[Row]) -> Iterator[str]:
    """Yield a line for each backend: how near to 1 a kernel comes to itself, and multiples to their share."""
    for backend in dict.fromkeys(row["key"].split()[0] for row in rows):
        mine = [row for row in rows if row["key"].startswith(f"{backend} ") and "seen" in row]
        own = [row["seen"]["plain"] for row in mine] if backend in {"c", "torch", "cpp"} else []
        again = [row["seen"]["itself"] / row["seen"]["plain"] for row in mine if "itself" in row["seen"]]
        far = [
            (
                abs(times * row["seen"][f"times-{times}"] / row["seen"].get("times-1", row["seen"]["plain"]) - 1),
                row["key"],
            )
            for row in mine
            for times in TIMES
            if f"times-{times}" in row["seen"]
        ]
        inside = sum(1 / (1 + row["noise"]) <= row["seen"]["plain"] <= 1 + row["noise"] for row in mine)
        told = [f"{len(mine)} measured"]
        if own:
            told.append(
                f"against the reference median {median(own):.3f}, {min(own):.3f} to {max(own):.3f}, {inside} within their noise"
            )
        if again:
            told.append(f"itself again {min(again):.3f} to {max(again):.3f}")
        if far:
            near, (most, key) = sum(one <= WITHIN for one, _ in far), max(far)
            told.append(f"{near} of {len(far)} multiples within {WITHIN:.0%}, the farthest {most:.1%} ({key})")
        yield f"{backend}: {'; '.join(told)}"


def wanted(every: list[Unit], words: list[str]) -> list[Unit]:
    """Return the lines that any of the words means: the one of that name, else all that hold it; without words all."""
    keys = {unit.key for unit in every}
    return [
        unit
        for unit in every
        if not words or any(unit.key == word if word in keys else word in unit.key for word in words)
    ]


def code_digest() -> str:
    """Return what tells versions of the judge apart."""
    folder = Path(tracebench_kernelbench.__file__).parent
    files = sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".c", ".h", ".json"})
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def main() -> None:
    """Measure what is not known yet until the minutes are over, and print all that is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, help="a checkout of KernelBench")
    parser.add_argument("--minutes", type=float, default=14.0, help="after which no further line is begun")
    parser.add_argument("--state", type=Path, default=Path(tempfile.gettempdir(), "kernelbench-tables.jsonl"))
    parser.add_argument(
        "--only", action="append", default=[], help="only this `backend problem`, or all that hold this"
    )
    given = parser.parse_args()
    ends, code = time.monotonic() + 60 * given.minutes, code_digest()
    lines = given.state.read_text(encoding="utf-8").splitlines() if given.state.exists() else []
    known = {row["key"]: row for row in map(json.loads, lines) if row["code"] == code}
    chosen = wanted(list(units(given.root)), given.only)
    left = [unit for unit in chosen if unit.key not in known]
    print("| backend | problem | plain | noise | itself | x 2 | x 5 | x 10 | load |")
    print("|---|---|---|---|---|---|---|---|---|")
    for unit in chosen:
        if unit.key in known:
            print(shown(known[unit.key]), flush=True)
    with open_sandbox(preload=loaded_beforehand([TORCH, NUMBA] if TORCH.missing() is None else [NUMBA])) as sandbox:
        sandbox.call("def warm():\n    return 0", "warm")
        while left and time.monotonic() < ends:
            row = left[0].measure(sandbox) | {"code": code}
            if "seen" in row:  # what could not be measured is tried again
                with given.state.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            known[left.pop(0).key] = row
            print(shown(row), flush=True)
    print("\n".join(summary([known[unit.key] for unit in chosen if unit.key in known])))
    if left:
        print(f"{len(left)} of {len(chosen)} lines are left: give the same command again")
        print(f"not measured yet: {', '.join(unit.key for unit in left)}")


if __name__ == "__main__":
    main()
