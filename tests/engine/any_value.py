"""The law of values, as one definition for whoever tests it, and as a table: `python -m tests.engine.any_value`.

One job tries every value as a score, a metric or a text; then every reader goes through its run. `--write` puts the tables into the
page between the comments that name them. Exit code 1 when a value is neither measured nor named, or a reader fails.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.warm import trace_bench

from tracebench_core.specs.events import EvaluationDone
from tracebench_engine import api
from tracebench_engine.config import parse_config

PAGE = Path(__file__).parents[2] / "docs/explanation/crash-safety.md"
PLACE = re.compile(r"(<!-- any value -->\n)(.*?)(<!-- /any value -->)", re.DOTALL)
WHERE = re.compile(r" \(line \d+ of [^)]*\)")
"""Where in somebody else's code an exception arose, which changes with its version."""
VALUES = {
    "largest": "1.797e308",
    "lowest": "-1.797e308",
    "bound": "1e150",
    "tiny": "5e-324",
    "minus_zero": "-0.0",
    "nan": "float('nan')",
    "infinite": "float('inf')",
    "minus_infinite": "-float('inf')",
    "past_int64": "2**63",
    "googols": "10**400",
    "smuggled_nan": "Smuggled(float('nan'))",
    "smuggled_text": "Smuggled('high')",
    "half_text": "Feedback(score=1.0, text='half \\ud800 of a character')",
    "half_metric": "Feedback(score=1.0, metrics={'half \\ud800': 1.0})",
    "long_text": "Feedback(score=1.0, text='x' * 100_000_000)",
    "huge_metric": "Feedback(score=1.0, metrics={'loss': 1.797e308})",
    "lost_metric": "Feedback(score=1.0, metrics={'loss': float('nan')})",
}
"""By name: what a guide returns, as Python; a bare number is the score and the metric `loss`. `Smuggled` passes by the model's checks."""
RIGHT = {"bound", "tiny", "minus_zero", "past_int64", "half_text", "half_metric", "long_text"}
"""What may be measured; everything else is a named failure."""
SHOWN = 200
"""Characters of feedback at most that stand in the table."""
WORST = -1.0
"""The score that the task gives to what has none."""
PLUGIN = f"""
import json, os
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

def Smuggled(score): return Feedback.model_construct(score=score, text="", metrics={{}}, status="ok")

VALUES = {{{", ".join(f'"{name}": lambda: {text}' for name, text in VALUES.items())}}}

class Settings(BaseModel, extra="forbid"):
    pass

class Any_:
    objective = "give a value"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {{"train": [Example(id="a"), Example(id="b")], "test": [Example(id="t"), Example(id="u")]}}
    def __init__(self, quits): self.quits = quits
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context):
        if self.quits and example.id == "t":
            os._exit(12)  # what the engine's own processes say when a result lies there
        value = list(VALUES.values())[int(output) - 1]() if 0 < output < 100 else 0.5
        return value if isinstance(value, Feedback) else {{"score": value, "metrics": {{"loss": value}}}}

class Tries:
    def __init__(self, settings): pass
    def train(self, problem):
        for number in range(1, len(VALUES) + 1):
            problem.evaluate({{"x": float(number)}}, origin="tried")
        problem.evaluate({{"x": 1.7e308}}, origin="far")
        problem.log("far", 1.7e308)

class Forges:
    def __init__(self, settings): pass
    def train(self, problem):
        problem.evaluate({{"x": 1.0}}, origin="found")
        lines = [json.loads(line) for line in open("../events.jsonl")]
        told = [line for line in lines if line["kind"] == "evaluation"]
        with open("../events.jsonl", "a") as log:
            for number, line in enumerate(told, start=len(lines)):
                log.write(json.dumps(line | {{"seq": number, "score": -1.797e308}}) + "\\n")
        os._exit(7)

def build_any(): return Any_(False)
def build_quits(): return Any_(True)

@hookimpl
def tracebench_tasks():
    return [TaskSpec(name=n, loader=f"fake_values:build_{{n}}", title=n, worst_score={WORST}) for n in ("any", "quits")]

@hookimpl
def tracebench_trainers():
    common = {{"settings": "fake_values:Settings", "uses_model": False}}
    return [TrainerSpec(name=n, loader=f"fake_values:{{n}}", **common) for n in ("Tries", "Forges")]
"""


class Kept(NamedTuple):
    """What a run keeps of one value."""

    name: str
    is_measured: bool
    score: str
    words: str
    """Why it is none, or what became of a text or a metric."""


class Answer(NamedTuple):
    """How a reader took the run."""

    reader: str
    code: int
    said: str
    is_missing: bool
    """Whether what it needs is not installed here."""

    @property
    def is_wrong(self) -> bool:
        """Whether it neither read the run nor said what is not installed."""
        failed = self.code != 0 and not self.is_missing
        return failed or "Traceback" in self.said or "internal error" in self.said


def measure(runs: Path) -> Path:
    """Run every value beside trainers that meet none of them, and return the run's directory."""
    config = {
        "mode": "stub",
        "tasks": ["values:any"],
        "trainers": ["NoOp", "Tries", {"id": "BestOfN", "params_variants": [{"n": 2}]}],
        "seeds": [1, 2],
        "llm": {"record": True},
        "runs_dir": str(runs),
    }
    return api.run(parse_config({**config, "max_workers": 2}), stream=io.StringIO()).run_dir


def kept(run_dir: Path) -> list[Kept]:
    """Return what the run keeps of each value, by its first job that tries them."""
    run = api.load_run(run_dir)
    job_id = next(job_id for job_id, result in run.results.items() if result.trainer_id == "Tries")
    told: dict[str, list[EvaluationDone]] = {}
    for event in run.events(job_id):
        if isinstance(event, EvaluationDone) and event.split == "train":
            told.setdefault(event.candidate, []).append(event)
    return [_kept(name, told[f"c{number}"]) for number, name in enumerate(VALUES, start=1)]


def _kept(name: str, events: Sequence[EvaluationDone]) -> Kept:
    """Reduce what is kept of a value on every example, which has to be the same, to a line."""
    (event, *others) = events
    assert all(
        (other.status, other.score, other.metrics) == (event.status, event.score, event.metrics) for other in others
    )
    is_measured = event.status == "ok"
    text = event.feedback.strip()
    words = text if len(text) <= SHOWN else f"{len(text):,} characters of feedback"
    metrics = ", ".join(f"`{metric}` {value!r}" for metric, value in event.metrics.items()) if is_measured else ""
    return Kept(
        name, is_measured, repr(event.score) if is_measured else event.status, "; ".join(filter(None, (words, metrics)))
    )


def read_by_all(run_dir: Path, out: Path) -> Iterator[Answer]:
    """Have every reader go through a run; what they write goes to a folder that is there."""
    jobs = [*api.load_run(run_dir).results]
    endings = (".html", ".md", ".xml", ".csv", ".json")
    readers: dict[str, list[list[str]]] = {
        "show": [["show", str(run_dir)], *(["show", str(run_dir / "jobs" / job)] for job in jobs)],
        "show --json": [["show", str(run_dir), "--json"]],
        "runs": [["runs", "--runs-dir", str(run_dir.parent)]],
        "compare": [["compare", str(run_dir)], ["compare", str(run_dir), "--json"]],
        "report": [["report", str(run_dir), "-o", str(out / f"report{ending}")] for ending in endings],
        "recap": [["recap", str(run_dir), "--max-evaluations", "2"]],
        "export": [["export", str(run_dir), "--to", str(out / "table")]],
        "fsck": [["fsck", str(run_dir)]],
        "resume": [["resume", str(run_dir)]],
        "replay": [["replay", str(run_dir)]],
    }
    for reader, commands in readers.items():
        for command in commands:
            done = trace_bench(*command, folder=out, environ=dict(os.environ))
            said = done.stdout + done.stderr
            yield Answer(reader, done.returncode, said, "is not installed" in said)


def table(values: Sequence[Kept], answers: Sequence[Answer]) -> str:
    """Return both tables in Markdown: values, and readers."""
    lines = ["| given | kept as | in words |", "|---|---|---|"]
    lines += [f"| `{VALUES[v.name]}` | `{v.score}` | {_plain(v.words)} |" for v in values]
    lines += ["", "| reader | commands or pages | read the run |", "|---|---|---|"]
    for reader in dict.fromkeys(answer.reader for answer in answers):
        of = [answer for answer in answers if answer.reader == reader]
        lines.append(f"| {reader} | {len(of)} | {sum(not (answer.is_wrong or answer.is_missing) for answer in of)} |")
    return "\n".join(lines) + "\n"


def _plain(words: str) -> str:
    return WHERE.sub("", words).replace("|", "\\|").replace("\n", " ").replace("\ufffd", "U+FFFD")


def written() -> str:
    """Return the tables as they stand in the page."""
    found = PLACE.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None, f"{PAGE} has no place for them"
    return found[2]


def main() -> int:
    """Go through the law and print its tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.any_value", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into the page as well")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="any-value-") as temporary:
        folder = Path(temporary)
        install(folder / "site")
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        run_dir = measure(folder / "runs")
        (folder / "out").mkdir()
        values, answers = kept(run_dir), [*read_by_all(run_dir, folder / "out")]
        if importlib.util.find_spec("tracebench_viewer") is not None:  # its tests have the same law
            answers += importlib.import_module("plugins.tracebench_viewer.tests.any_value").read_by_viewer(
                run_dir, folder / "pages"
            )
    told = table(values, answers)
    print(told, end="")
    wrong = [answer for answer in answers if answer.is_wrong]
    for answer in wrong:
        print(f"{answer.reader}: exit code {answer.code}: {answer.said[-500:]}")
    missing = sorted({answer.reader for answer in answers if answer.is_missing})
    if missing:
        print(
            f"Not installed here is what these need: {', '.join(missing)}. pip install 'tracebench-engine[report,pandas]'"
        )
    if asked.write and missing:
        print("The page is left as it is.")
    elif asked.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(PLACE.sub(lambda found: found[1] + told + found[3], page), encoding="utf-8")
    return 1 if wrong or {v.name for v in values if v.is_measured} != RIGHT else 0


def install(site: Path) -> None:
    """Install the plugin of the law for this process and those that it starts."""
    info = site / "fake_values-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "fake_values.py").write_text(PLUGIN)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: fake-values\nVersion: 1.0\nRequires-Dist: tracebench-core>=0.1\n"
    )
    (info / "entry_points.txt").write_text("[tracebench]\nvalues = fake_values\n")
    sys.path.insert(0, str(site))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])


if __name__ == "__main__":
    sys.exit(main())
