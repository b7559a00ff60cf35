"""What is said of logs of other programs: of small ones with chosen scores, pair by pair, and of files that are none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.kept.store import Said, said_of_each
from tests.kept.text import text_of
from tests.unit.analysis.test_logs import BAD, harnessed, inspected, line, sample
from tracebench_analysis.logs.inspect_ai import read_inspect
from tracebench_analysis.logs.lm_eval import read_lm_eval
from tracebench_analysis.logs.rows import Log
from tracebench_analysis.logs.versus import compare_logs
from tracebench_analysis.logs.words import log_data, log_sentences
from tracebench_core.errors import UsageError

TIME = "2026-01-02T03-04-05.678"


class World(NamedTuple):
    """Logs to be made and read, and how they are compared."""

    logs: Callable[[Path], Sequence[Log]]
    how: Mapping[str, Any] = {}


def graded(
    *models: Sequence[Any], cluster: str | None = None, more: Sequence[Mapping[str, Any]] = ({}, {}, {})
) -> Callable[[Path], list[Log]]:
    """Return logs of inspect_ai of models with these grades by question; a list of grades is one of epochs."""

    def make(folder: Path) -> list[Log]:
        found = []
        for number, grades in enumerate(models):
            samples = [
                sample(i, grade, epoch=epoch, **({"metadata": {"text": f"t{i // 3}"}} if cluster else {}))
                for i, each in enumerate(grades)
                for epoch, grade in enumerate(each if isinstance(each, list) else [each], start=1)
            ]
            path = folder / f"log{number}.json"
            found.append(
                read_inspect(inspected(path, samples, **{"model": f"lab/m{number}", **more[number]}), cluster=cluster)
            )
        return found

    return make


def counted(
    *models: Mapping[str, Sequence[float]], lower: bool = False, results: str | None = None
) -> Callable[[Path], list[Log]]:
    """Return logs of the harness of models with these scores by metric; with a results file beside each."""

    def make(folder: Path) -> list[Log]:
        found = []
        for number, metrics in enumerate(models):
            size = len(next(iter(metrics.values())))
            rows = [line(i, **{name: scores[i] for name, scores in metrics.items()}) for i in range(size)]
            path = harnessed(folder / f"m{number}" / f"samples_sums_{TIME}.jsonl", rows)
            told = {"model_name": f"lab/m{number}", "higher_is_better": {"sums": {"wer": not lower, "acc": True}}}
            path.with_name(f"results_{TIME}.json").write_text(json.dumps(told) if results is None else results)
            found.append(read_lm_eval(path))
        return found

    return make


def _files(*names: str) -> Callable[[Path], list[Log]]:
    """Return a log read from a folder of such files, each with two questions of its own task."""

    def make(folder: Path) -> list[Log]:
        for name in names:
            harnessed(folder / "out" / name, [line(i, acc=float(i)) for i in range(2)])
        return [read_lm_eval(folder / "out")] * 2

    return make


def _lines(*each: Mapping[str, Any]) -> Callable[[Path], list[Log]]:
    def make(folder: Path) -> list[Log]:
        bare = [{"doc_id": i, "acc": i % 2, "note": "x", "resps": [1]} | dict(more) for i, more in enumerate(each)]
        one = [{**row, "acc": 1 - row["acc"]} for row in bare]
        return [read_lm_eval(harnessed(folder / f"{name}.jsonl", rows)) for name, rows in (("a", bare), ("b", one))]

    return make


WORLDS: Mapping[str, World] = {
    "better": World(graded("C" * 14, "C" * 4 + "I" * 10)),
    "worse by epochs": World(graded([["I", "C"]] * 6 + [["I", "I"]] * 6, [["C", "C"], ["C", "C"]] * 6)),
    "open": World(graded("CCCCCICC", "CCCIICCI")),
    "open, one question": World(graded("C", "I")),
    "open by epochs": World(graded([["C", "I", "C"]] * 3 + [["I", "C", "I"]] * 2 + ["CCI"], [["C", "I", "I"]] * 5 + ["ICI"])),
    "the same": World(graded("CICI", "CICI")),
    "three": World(graded("C" * 12, "C" * 7 + "I" * 5, "P" * 12)),
    "parts": World(graded([0.5, 0.25, 1.0, 0.75], [0.25, 0.5, 0.5, 0.125])),
    "clusters": World(graded("CCCCCCCIICCC", "CCCIIICIIIII", cluster="text"), {"cluster": "text"}),
    "many clusters": World(graded("C" * 63, "CCI" * 21, cluster="text"), {"cluster": "text"}),
    "some left out": World(graded(["C", None, "I", float("nan"), "C"], ["C", "C", None, "I", "I", "C"])),
    "no common score": World(graded(["C", None], [None, "I"])),
    "did not end well": World(graded("CCI", "CII", more=({"status": "error"}, {"status": None}))),
    "of one model": World(graded("CCI", "CII", more=({"model": "m"}, {"model": "m"}))),
    "of no model": World(graded("CCI", "CII", more=({"model": ""}, {"model": ""}))),
    "of two tasks": World(graded("CCI", "CII", more=({"task": "a"}, {"task": "b"}))),
    "of two data sets": World(graded("CCI", "CII", more=({"data": "a"}, {"data": "b"}))),
    "one alone": World(graded("CCI")),
    "one alone, allowed": World(graded("CCI"), {"least": 1}),
    "metrics": World(graded([{"a": "C", "b": 0.5}, {"a": "I"}], [{"a": "C", "b": "x"}, {"a": "C"}])),
    "a metric": World(graded([{"a": "C", "b": 0.5}, {"a": "I"}], [{"a": "C", "b": 0.25}, {"a": "C"}]), {"metric": "match/a"}),
    "a metric that is not there": World(graded([{"a": "C"}], [{"a": "C"}]), {"metric": "c"}),
    "nothing but words": World(graded(["maybe", "x"], ["maybe", "C"])),
    "lists of grades": World(graded([["C", "I"]], [["I", "I"]])),
    "harness": World(counted({"acc": [1, 0, 1, 1, 0, 1]}, {"acc": [0, 0, 1, 0, 0, 1]})),
    "lower is better": World(counted({"wer": [0.5, 0.25, 0.75]}, {"wer": [0.25, 0.125, 0.5]}, lower=True)),
    "results that are none": World(counted({"acc": [1, 0]}, {"acc": [0, 0]}, results="{")),
    "results of another kind": World(counted({"acc": [1, 0]}, {"acc": [0, 0]}, results="[1]")),
    "two metrics": World(counted({"acc": [1, 0], "wer": [0, 1]}, {"acc": [0, 0], "wer": [1, 1]})),
    "two metrics, one asked for": World(counted({"acc": [1, 0], "wer": [0, 1]}, {"acc": [0, 0], "wer": [1, 1]}), {"metric": "acc"}),
    "a folder of tasks": World(_files(f"samples_a_{TIME}.jsonl", f"samples_b_c_{TIME}.jsonl", "notes.txt")),
    "a folder with a task twice": World(_files(f"samples_a_{TIME}.jsonl", "samples_a_2026-01-03T03-04-05.jsonl")),
    "bare lines": World(_lines({}, {}, {"filter": None}, {"prompt_hash": "p"})),
    "lines with other prompts": World(_lines({"prompt_hash": "p"}, {"prompt_hash": 3}, {"metrics": ["acc"], "f1": 2})),
}  # fmt: skip


PYTHONS = re.compile(r"(is no JSON|is damaged, or was cut while it was copied): (?!it is).*")
"""What a release of Python says in its own words."""


def log_of(name: str, folder: Path) -> list[str]:
    """Return what is said of the logs of one world, or of a file that is none; what is refused, by its words and its hint."""
    try:
        lines = _refused(name, folder) if name in BAD else _told(WORLDS[name], folder)
    except UsageError as err:
        lines = [f"refused: {err}", f"hint: {err.hint}"]
    return [PYTHONS.sub(r"\1: …", line.replace(str(folder), "PLACE")) for line in lines]


def _refused(name: str, folder: Path) -> list[str]:
    make, read, _ = BAD[name]
    return [f"read: {read(make(folder))}"]


def _told(world: World, folder: Path) -> list[str]:
    logs = world.logs(folder)
    found = compare_logs(logs, **world.how)
    data = log_data(found)
    return [
        *(f"{log.label}: {text_of((log.dataset, log.lower_is_better, log.remarks, log.metrics))}" for log in logs),
        *(
            f"{log.label}: {[(r.epoch, r.cluster, r.is_failed, r.prompt, (r.digest or '')[:6]) for r in log.rows[:2]]}"
            for log in logs
        ),
        *(f"{s.table.log.label} {text_of(s.interval)}" for s in found.standings),
        *log_sentences(found),
        *(f"{what}: {text_of(each)}" for what in ("metric", "cluster") for each in [data[what]]),
        *(f"{what}: {text_of(each)}" for what in ("logs", "pairs", "remarks") for each in data[what]),
    ]


def logs() -> Said:
    """Return what is said now."""
    return said_of_each([*WORLDS, *BAD], log_of)
