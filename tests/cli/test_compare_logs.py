"""`compare --inspect` and `--lm-eval` as a process: what is printed where, and what refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Cli = Callable[..., CompletedProcess[str]]


def samples(folder: Path, name: str, right: int) -> None:
    rows = [
        {"doc_id": i, "doc": {"text": i % 9}, "filter": "none", "metrics": ["acc"], "acc": float(i < right)}
        for i in range(90)
    ]
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_three_models_are_compared_in_words_and_as_data(cli: Cli, tmp_path: Path) -> None:
    for name, right in (("a.jsonl", 30), ("b.jsonl", 60), ("c.jsonl", 62)):
        samples(tmp_path, name, right)

    said = cli("compare", "--lm-eval", "a.jsonl", "b.jsonl", "c.jsonl")
    data = json.loads(cli("compare", "--lm-eval", "a.jsonl", "b.jsonl", "c.jsonl", "--json").stdout)

    assert said.returncode == 0, said.stderr
    assert "`c` is better than `a`: +0.3556" in said.stdout
    assert "Not resolved: `c` and `b`" in said.stdout
    assert "more questions like these would likely decide" in said.stdout
    assert [log["label"] for log in data["logs"]] == ["c", "b", "a"]
    assert {(p["one"], p["other"]): p["verdict"] for p in data["pairs"]} == {
        ("c", "b"): "not resolved",
        ("c", "a"): "better",
        ("b", "a"): "better",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--lm-eval", "a.jsonl"], "takes two logs"),
        (["--lm-eval", "a.jsonl"], "compare --lm-eval one.jsonl other.jsonl"),
        (["--lm-eval", "a.jsonl", "absent.jsonl"], "There is no log `absent.jsonl`"),
        (["--inspect", "a.jsonl", "b.jsonl"], "is no JSON"),
        (["--inspect", "--lm-eval", "a.jsonl", "b.jsonl"], "--inspect beside --lm-eval"),
        (["--lm-eval", "a.jsonl", "b.jsonl", "--baseline", "a"], "Logs are not compared with `--baseline`"),
        (["--lm-eval", "a.jsonl", "b.jsonl", "--metric", "f1"], "No single metric of all logs is called `f1`"),
        (["--lm-eval", "a.jsonl", "b.jsonl", "--cluster", "page"], "has no field `page`"),
        (["run", "--cluster", "f"], "is of logs"),
    ],
)
def test_what_cannot_be_is_told_with_a_hint_and_exit_code_2(
    cli: Cli, tmp_path: Path, arguments: list[str], told: str
) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        samples(tmp_path, name, 30)

    done = cli("compare", *arguments)

    assert done.returncode == 2, done.stdout
    assert told in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
