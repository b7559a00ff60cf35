"""What runs say of the data that they measured on, and what becomes of runs that measured on other data."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracebench_analysis.comparison.pooling import pooling_findings, refuse_unpoolable
from tracebench_core.errors import UsageError
from tracebench_core.specs import Example, JobResult
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.job.finish import split_data
from tracebench_runs.reading.briefs import Briefs
from tracebench_runs.reading.reader import Run, load_run


@dataclass(frozen=True)
class Graph:
    edges: Any
    weight: float = 1.0


Pair = namedtuple("Pair", "a b")
CONTENTS = [
    None, 1, 1.5, True, "1", "é", [1, 2], [2, 1], {"a": 1}, {"a": 2}, {1: 2}, b"x", b"y", {1, 2}, {1, 3}, 1j, float("nan"), Pair("a", "b"),
    np.arange(3), np.arange(3.0), np.arange(4), np.arange(4).reshape(2, 2), np.float64(2.5), Graph((1, 2)), Graph((1, 3)), Graph({3, 4}),
    Graph(np.zeros(2)), Example(id="inner", input=3),
]  # fmt: skip


def test_each_content_has_a_digest_of_its_own() -> None:
    digests = [split_data([Example(id="x", input=content)]).sha256 for content in CONTENTS]
    digests += [split_data([Example(id="x", reference=content)]).sha256 for content in CONTENTS[1:]]
    digests += [split_data([Example(id=id_) for id_ in ids]).sha256 for ids in ("", "y", "xy", "yx")]

    assert None not in digests
    assert len(set(digests)) == len(digests)


def test_the_digest_does_not_depend_on_the_process() -> None:
    script = (
        "from tracebench_engine.job.finish import split_data\nfrom tracebench_core.specs import Example\nimport numpy\n"
        "print(split_data([Example(id='x', input={'b': {'one', 'two', 'three'}, 'a': numpy.ones(3)}, reference=(1, {2: 3}))]).sha256)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    "strange",
    [object(), Path("/a"), {(1, 2): 3}, np.array([object()]), open, {1: 1, "1": {"deep": Path()}}],
    ids=["object", "path", "key", "array", "function", "deep"],
)
def test_what_is_no_data_has_no_digest_and_is_counted(strange: Any) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    for content in (strange, [strange], cycle):
        data = split_data([Example(id="x", input=content), Example(id="y")])
        assert (data.examples, data.sha256) == (2, None)


def run(tmp_path: Path, name: str) -> Path:
    document = {"tasks": ["internal:code_param"], "trainers": ["NoOp"], "run_id": name, "runs_dir": str(tmp_path)}
    return api.run(parse_config(document), stream=io.StringIO()).run_dir


def with_data(run: Run, **data: Any) -> Run:
    """Return a run whose results say something else of the data."""
    results = {
        id_: JobResult.model_validate(json.loads(result.model_dump_json()) | {"data": data})
        for id_, result in run.results.items()
    }
    places = {id_: place for place, id_ in enumerate(results)}
    run.__dict__.update(results=results, briefs=Briefs(places, results.values()))
    return run


def test_runs_on_other_data_are_told_apart_and_refused_where_they_measured_on_it(tmp_path: Path) -> None:
    path, other = run(tmp_path, "one"), run(tmp_path, "other")
    (result,) = load_run(path).results.values()
    told = json.loads(result.model_dump_json())["data"]

    assert set(told) == {"train", "validation", "test"}
    assert all(one["sha256"] and one["examples"] for one in told.values())
    assert not pooling_findings([load_run(path), load_run(other)])

    silent = pooling_findings([load_run(path), with_data(load_run(other))])
    assert [f.forbids for f in silent] == [False] * 3
    assert "not told" in str(silent[0])

    changed = {**told["train"], "sha256": "0" * 64}
    (finding,) = pooling_findings([load_run(path), with_data(load_run(other), **{**told, "train": changed})])
    assert not finding.forbids
    unknown = {**told["test"], "sha256": None}
    (finding,) = pooling_findings([load_run(path), with_data(load_run(other), **{**told, "test": unknown})])
    assert not finding.forbids
    for split, one in (("test", changed), ("validation", {**told["validation"], "examples": 99})):
        findings = pooling_findings([load_run(path), with_data(load_run(other), **{**told, split: one})])
        with pytest.raises(UsageError, match=f"data of split `{split}` of task `internal:code_param` differs"):
            refuse_unpoolable(findings)
