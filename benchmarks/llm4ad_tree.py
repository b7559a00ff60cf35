"""Print what every task of a folder says: the score of its own starting program, or what it lacks; and how fast it is told.

    TRACEBENCH_COBENCH_DATA=cobench-data python benchmarks/llm4ad_tree.py path/to/benchmark_tasks [--only co_bench] [--limit 60] \
        [--kept rows.jsonl] > table.md

Each task is opened as a run opens it and evaluates its starting program in the sandbox, an evaluation before that warming it up. Where
that program does not score and this suite has a task of the same key, the folder's evaluator is asked about our starting program, too.
The last columns compare the seconds of the program that scored with those of the folder's evaluator in a bare process, without any
isolation. With `--kept` each row is kept in a file, and a later start asks only the tasks that are not in it. Exits 1 when a task that
lacks nothing says neither a score nor a reason.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from llm4ad_anchors import Job

from tracebench_core.contracts import EvaluationFailed, Sandbox
from tracebench_core.errors import TraceBenchError
from tracebench_core.plugins.catalog import Catalog
from tracebench_core.specs import TaskSpec
from tracebench_llm4ad import plugin
from tracebench_llm4ad.adapters.task import ForeignTask
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.code_task import PARAMETER
from tracebench_sandbox import open_sandbox

QUOTED = 110
LONG = 0.25
"""Seconds in a bare process from which on the cost of a process of one's own no longer decides."""
BARE = """
import contextlib, io, json, sys, time
from tracebench_llm4ad.adapters.runtime.loading import load

order = json.load(sys.stdin)
foreign = load(order)
program = order["prelude"] + order["program"]
space = {}
exec(program, space)
for _ in range(2):
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        foreign.evaluate(program, space[foreign.facts["entry"]], seed=0, repeats=order["repeats"])
    spent = time.perf_counter() - started
print(spent)
"""
"""Evaluates a program twice beside its evaluator, and prints the seconds of the second time."""


@dataclass(frozen=True)
class Said:
    """What an evaluator said of one program, and in how many seconds."""

    words: str
    scored: bool
    seconds: float


@dataclass(frozen=True)
class Row:
    """What a task said; seconds are None where nothing scored."""

    name: str
    words: str
    scored: bool = False
    scores_ours: bool = False
    seconds: float | None = None
    bare: float | None = None

    @classmethod
    def kept(cls, path: Path | None) -> dict[str, Row]:
        """Return the rows of a file of earlier answers by name."""
        if path is None or not path.exists():
            return {}
        return {row.name: row for row in (cls(**json.loads(line)) for line in path.read_text().splitlines())}

    def keep(self, path: Path) -> None:
        """Append the row to a file."""
        with path.open("a") as file:
            print(json.dumps(asdict(self)), file=file)

    @property
    def ratio(self) -> float | None:
        """How many times the bare process's seconds ours are."""
        return self.seconds / self.bare if self.seconds and self.bare else None

    def line(self) -> str:
        """Return the row of the table."""
        figures = [f"{value:.3g}" if value is not None else "" for value in (self.seconds, self.bare, self.ratio)]
        return " | ".join([f"| `{self.name}`", self.words.replace("|", "/"), *figures]) + " |"


def ask(spec: TaskSpec, *, sandboxes: Sandboxes, folder: Path, limit: float | None) -> Row:
    """Open a task and have its starting program evaluated, and ours where that does not score."""
    if lacking := Catalog.availability(spec):
        return Row(spec.name, _short(lacking))
    module, _, attribute = spec.loader.partition(":")
    options = {} if limit is None else {"timeout_seconds": limit}
    try:
        task: ForeignTask = getattr(import_module(module), attribute)(**options)
    except TraceBenchError as err:
        return Row(spec.name, _short(str(err)))
    job = Job(sandboxes.of(spec), folder)
    try:
        program = str(task.parameters[0].initial)
        said = evaluate(task, program, job)
        if said.scored:
            bare = bare_seconds(task, program, limit or 600)
            return Row(spec.name, said.words, scored=True, seconds=said.seconds, bare=bare)
        ours = our_program(spec)
        if not ours:
            return Row(spec.name, said.words)
        second = evaluate(task, ours, job)
        words = f"{said.words}; our starting program: {second.words}"
        if not second.scored:
            return Row(spec.name, words)
        bare = bare_seconds(task, ours, limit or 600)
        return Row(spec.name, words, scores_ours=True, seconds=second.seconds, bare=bare)
    finally:
        task.close()


def our_program(spec: TaskSpec) -> str:
    """Return the starting program of this suite's task of the same key; empty where there is none, or it cannot be opened."""
    own = BY_NAME.get(spec.name.removesuffix("@root"))
    if own is None or any(not find_spec(need.name) for need in own.requires if need.kind == "module"):
        return ""
    module, _, attribute = own.loader.partition(":")
    return str(getattr(import_module(module), attribute)().parameters[0].initial)


def evaluate(task: ForeignTask, program: str, job: Job) -> Said:
    """Return what the second evaluation of a program says."""
    example = task.splits["train"][0]
    for _ in range(2):
        started = time.perf_counter()
        try:
            output = task.run({PARAMETER: program}, example, job)
            feedback, scored = task.guide(example, output, job), True
        except EvaluationFailed as failure:
            feedback, scored = failure.feedback, False
        seconds = time.perf_counter() - started
        if feedback.status == "timeout":
            break
    words = f"{feedback.score:.6g} ({task.where})" if scored else f"{feedback.status}: {_short(feedback.text)}"
    return Said(words, scored, seconds)


def bare_seconds(task: ForeignTask, program: str, limit: float) -> float | None:
    """Return the seconds of the folder's own evaluator in a process that isolates nothing; None when it fails there."""
    order = {**task.order, "prelude": task.prelude, "program": program, "repeats": task.repeats}
    command = [sys.executable, "-W", "ignore", "-c", BARE]
    try:
        done = subprocess.run(
            command, input=json.dumps(order), capture_output=True, text=True, timeout=limit, check=True
        )
    except subprocess.SubprocessError:
        return None
    return float(done.stdout.splitlines()[-1])


class Sandboxes:
    """A sandbox for each set of modules that candidates may import, opened on need."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._open: dict[tuple[str, ...], Sandbox] = {}

    def of(self, spec: TaskSpec) -> Sandbox:
        """Return the sandbox for a task."""
        modules = spec.sandbox or ()
        if modules not in self._open:
            self._open[modules] = self._stack.enter_context(open_sandbox(preload=modules))
        return self._open[modules]


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= QUOTED else f"{words[: QUOTED - 3]}..."


def rows(root: Path, *, only: str, limit: float | None, kept: Path | None) -> Iterator[Row]:
    """Yield a row for each task of the root whose name contains `only`, as it was kept or as it is said now."""
    known = Row.kept(kept)
    plugin.tracebench_configure({"root": root, "options": {}})
    specs = [spec for spec in plugin.tracebench_tasks() if "root" in spec.groups and only in spec.name]
    with tempfile.TemporaryDirectory() as folder, chdir(folder), ExitStack() as stack:
        sandboxes = Sandboxes(stack)
        for spec in specs:
            row = known.get(spec.name)
            if row is None:
                row = ask(spec, sandboxes=sandboxes, folder=Path(folder), limit=limit)
                if kept is not None:
                    row.keep(kept)
            yield row


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, help="a `benchmark_tasks` tree or an LLM4AD checkout")
    parser.add_argument("--only", default="", help="only tasks whose name contains this")
    parser.add_argument("--limit", type=float, help="seconds for an evaluation, in place of the tasks' own limits")
    parser.add_argument("--kept", type=Path, help="a file of rows, JSON lines, to go on from and to add to")
    wanted = parser.parse_args()
    kept = wanted.kept and wanted.kept.absolute()
    print("| task | what it says | seconds | bare | times |\n|---|---|---|---|---|")
    found: list[Row] = []
    for row in rows(wanted.root.absolute(), only=wanted.only, limit=wanted.limit, kept=kept):
        found.append(row)
        print(row.line(), flush=True)
    ratios = [row.ratio for row in found if row.ratio is not None]
    own, ours = sum(row.scored for row in found), sum(row.scores_ours for row in found)
    print(
        f"\n{len(found)} tasks: {own} score their own starting program, {ours} more score ours; the others say why not."
    )
    if ratios:
        longer = [row.ratio for row in found if row.ratio is not None and (row.bare or 0) >= LONG]
        print(f"Median over {len(ratios)} tasks: {statistics.median(ratios):.1f} times the bare process's seconds.")
        if longer:
            print(f"Over the {len(longer)} that take {LONG:g} s or more: {statistics.median(longer):.1f} times.")
    sys.exit(0 if all(row.words for row in found) else 1)


if __name__ == "__main__":
    main()
