"""Logs of inspect_ai and lm-evaluation-harness: read, matched, refused. The samples are made here, in the shape that the two write."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracebench_analysis.logs.inspect_ai import read_inspect, worth
from tracebench_analysis.logs.lm_eval import read_lm_eval
from tracebench_analysis.logs.versus import LogComparison, compare_logs
from tracebench_core.errors import UsageError

Sample = dict[str, Any]


def sample(i: int | str, value: Any, *, epoch: int = 1, **more: Any) -> Sample:
    scores = {} if value is None else {"match": {"value": value, "answer": "x"}}
    asked = [
        {"role": "user", "content": f"What is {i} + 1?", "id": f"{value}{epoch}"}
    ]  # each run draws ids of messages anew
    return {
        "id": i,
        "epoch": epoch,
        "input": asked,
        "target": "2",
        "metadata": {"text": str(i)},
        "scores": scores,
        **more,
    }


def inspected(
    path: Path, samples: list[Sample], *, model: str = "lab/one", task: str = "sums", data: str = "sums", **more: Any
) -> Path:
    header = {
        "version": 2,
        "status": "success",
        "eval": {"task": task, "model": model, "dataset": {"name": data}},
        **more,
    }
    if path.suffix == ".json":
        path.write_text(json.dumps({**header, "samples": samples}))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in samples:
            archive.writestr(f"samples/{each['id']}_epoch_{each['epoch']}.json", json.dumps(each))
        archive.writestr("summaries.json", "[]")
        archive.writestr("header.json", json.dumps(header))
    return path


def line(i: int, *, column: str = "none", digest: str = "d", **metrics: Any) -> dict[str, Any]:
    return {
        "doc_id": i, "doc": {"question": f"{i}", "text": "t"}, "target": "2", "arguments": {}, "resps": [["2"]], "filtered_resps": ["2"],
        "filter": column, "metrics": [*metrics], "doc_hash": f"{digest}{i}", "prompt_hash": f"p{i}", "target_hash": f"t{i}", **metrics,
    }  # fmt: skip


def harnessed(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def inspect_pair(one: Path, other: Path, **more: Any) -> LogComparison:
    return compare_logs([read_inspect(one), read_inspect(other)], **more)


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_both_kinds_of_inspect_log_say_the_same(tmp_path: Path, kind: str) -> None:
    one = inspected(tmp_path / f"a.{kind}", [sample(i, "C" if i < 6 else "I") for i in range(10)])
    other = inspected(tmp_path / f"b.{kind}", [sample(i, "C" if i < 4 else "P") for i in range(10)], model="lab/two")

    found = inspect_pair(one, other)

    assert [(s.table.log.label, s.mean) for s in found.standings] == [("lab/two", 0.7), ("lab/one", 0.6)]
    assert (found.pairs[0].won, found.pairs[0].lost, found.pairs[0].questions) == (4, 2, 10)


def test_a_log_in_zstd_is_read(tmp_path: Path) -> None:
    if sys.version_info >= (3, 14):
        library: Any = zipfile
    else:
        library = pytest.importorskip("backports.zstd.zipfile", reason="the extra `inspect` is not installed")
    path = tmp_path / "a.eval"
    with library.ZipFile(path, "w", library.ZIP_ZSTANDARD) as archive:
        archive.writestr("samples/1_epoch_1/sample.json", json.dumps({**sample(1, "C"), "metadata": None} | {}))
        shell = sample(2, "I")
        del shell["metadata"]
        archive.writestr("samples/2_epoch_1/sample.json", json.dumps(shell))
        archive.writestr("samples/2_epoch_1/metadata.json", json.dumps({"text": "beside"}))
        archive.writestr("samples/2_epoch_1/events/0.json", "[]")
        archive.writestr(
            "header.json", json.dumps({"status": "success", "eval": {"task": "t", "model": "m", "dataset": {}}})
        )

    assert [row.scores for row in read_inspect(path).rows] == [{"match": 1.0}, {"match": 0.0}]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1e150, 1e150), (-1e151, None),
        ("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), ("yes", 1.0), ("False", 0.0), ("0.25", 0.25), (True, 1.0), (3, 3.0),
        ("c", None), ("maybe", None), ("nan", None), (float("nan"), None), (None, None), (10**400, None),
    ],
)  # fmt: skip
def test_grades_are_worth_what_inspect_ai_gives_for_them(value: object, expected: float | None) -> None:
    assert worth(value) == expected


def test_what_has_no_score_is_left_out_and_told(tmp_path: Path) -> None:
    good = [sample(i, "C") for i in range(8)]
    one = inspected(
        tmp_path / "a.json", [*good, sample(8, None, error={"message": "x"}), sample(9, float("nan")), sample(10, "C")]
    )
    other = inspected(tmp_path / "b.json", [*good, sample(8, "I"), sample(9, "I")], model="lab/two", status="cancelled")

    found = inspect_pair(one, other)

    by_label = {s.table.log.label: s for s in found.standings}
    assert by_label["lab/one"].mean == 1.0
    assert (by_label["lab/one"].table.failed, by_label["lab/one"].table.unscored) == (1, 1)
    assert found.pairs[0].questions == 8
    told = " ".join(found.remarks)
    assert "1 rows with an error and 1 without a number" in told
    assert "status `cancelled`" in told
    assert "1 of the first and 2 of the second alone" in told


def test_metrics_of_a_dictionary_have_names_and_one_has_to_be_chosen(tmp_path: Path) -> None:
    paths = [
        inspected(tmp_path / f"{m}.eval", [sample(i, {"a": "C", "b": 0.5}) for i in range(4)], model=m) for m in "xy"
    ]

    with pytest.raises(UsageError, match="`match/a`, `match/b`") as caught:
        inspect_pair(*paths)
    assert caught.value.hint == "--metric match/a"
    assert inspect_pair(*paths, metric="match/b").standings[0].mean == 0.5


def test_filters_of_the_harness_are_metrics_and_lower_may_be_better(tmp_path: Path) -> None:
    time = "2026-01-02T03-04-05.678"
    for model, right, errors in (("one", 7, 0.5), ("two", 9, 0.25)):
        rows = [line(i, column="strict-match", exact_match=float(i < right), wer=errors) for i in range(10)]
        rows += [line(i, column="loose", exact_match=1.0) for i in range(10)]
        harnessed(tmp_path / model / f"samples_sums_x_{time}.jsonl", rows)
        results = {"model_name": f"lab/{model}", "higher_is_better": {"sums_x": {"exact_match": True, "wer": False}}}
        (tmp_path / model / f"results_{time}.json").write_text(json.dumps(results))
    logs = [read_lm_eval(tmp_path / "one"), read_lm_eval(next((tmp_path / "two").glob("*.jsonl")))]

    strict, loose = (compare_logs(logs, metric=m) for m in ("exact_match,strict-match", "exact_match,loose"))
    wer = compare_logs(logs, metric="wer")

    assert [(s.table.log.label, s.mean) for s in strict.standings] == [("lab/two", 0.9), ("lab/one", 0.7)]
    assert loose.pairs[0].verdict == "same"
    assert wer.standings[0].table.log.label == "lab/two"
    assert wer.pairs[0].verdict == "better"
    assert (wer.pairs[0].won, wer.pairs[0].lost) == (10, 0)
    assert (strict.pairs[0].won, strict.pairs[0].lost) == (2, 0)
    assert strict.standings[0].table.log.tasks == {"sums_x"}
    with pytest.raises(UsageError, match="No single metric of all logs is called `exact_match`"):
        compare_logs(logs, metric="exact_match")


def test_other_prompts_are_told_and_other_questions_refused(tmp_path: Path) -> None:
    one = read_lm_eval(harnessed(tmp_path / "a.jsonl", [line(i, acc=1.0) for i in range(5)]))
    prompted = read_lm_eval(
        harnessed(tmp_path / "b.jsonl", [line(i, acc=1.0) | {"prompt_hash": "other"} for i in range(5)])
    )
    changed = read_lm_eval(
        harnessed(tmp_path / "c.jsonl", [line(i, digest="e" if i == 3 else "d", acc=1.0) for i in range(5)])
    )

    assert any("prompt differs in 5 of 5" in remark for remark in compare_logs([one, prompted]).remarks)
    with pytest.raises(UsageError, match="something else under the same id in 1 of 5 questions, first in `3`"):
        compare_logs([one, changed])


def test_logs_that_are_no_pair_are_refused(tmp_path: Path) -> None:
    rows = [sample(i, "C") for i in range(4)]
    one = inspected(tmp_path / "a.eval", rows)
    refused: list[tuple[Path, str]] = [
        (inspected(tmp_path / "task.eval", rows, task="poems"), "different tasks: `sums` and `poems`"),
        (inspected(tmp_path / "data.eval", rows, data="others"), "different data sets"),
        (inspected(tmp_path / "ids.eval", [sample(i + 50, "C") for i in range(4)]), "no question in common"),
        (
            inspected(tmp_path / "asked.eval", [{**sample(0, "C"), "input": "Else?"}, *rows[1:]]),
            "something else under the same id",
        ),
        (inspected(tmp_path / "twice.json", [*rows, rows[2]]), "question `2` twice in epoch 1"),
        (inspected(tmp_path / "none.eval", [sample(i, None) for i in range(4)]), "No metric is in all logs"),
    ]
    for path, told in refused:
        with pytest.raises(UsageError, match=told):
            inspect_pair(one, path)
    with pytest.raises(UsageError, match="takes two logs"):
        compare_logs([read_inspect(one)])


def test_shuffled_choices_are_the_same_question(tmp_path: Path) -> None:
    one = inspected(tmp_path / "a.eval", [sample(i, "C", choices=["x", "y"], target="A") for i in range(3)])
    other = inspected(tmp_path / "b.eval", [sample(i, "C", choices=["y", "x"], target="B") for i in range(3)])

    assert inspect_pair(one, other).pairs[0].questions == 3


def cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-30])
    return path


def flipped(path: Path) -> Path:
    raw = bytearray(path.read_bytes())
    raw[60] ^= 0xFF
    path.write_bytes(raw)
    return path


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


BAD: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any], str]] = {
    "cut zip": (lambda p: cut(inspected(p / "a.eval", [sample(1, "C")])), read_inspect, "damaged, or was cut"),
    "flipped byte": (lambda p: flipped(inspected(p / "a.eval", [sample(1, "C")])), read_inspect, "damaged|no JSON"),
    "cut json": (lambda p: cut(inspected(p / "a.json", [sample(1, "C")])), read_inspect, "is no JSON"),
    "a zip of another kind": (lambda p: zipped(p / "a.eval", "x.txt"), read_inspect, "no `header.json`"),
    "no samples": (lambda p: inspected(p / "a.eval", []), read_inspect, "holds no samples"),
    "no samples in json": (lambda p: inspected(p / "a.json", []), read_inspect, "holds no samples"),
    "a list": (lambda p: written(p / "a.json", "[1, 2]"), read_inspect, "no log of inspect_ai"),
    "deep": (lambda p: written(p / "a.json", "[" * 100_000), read_inspect, "no JSON"),
    "binary": (lambda p: written(p / "a.json", b"\xff\xfe\x00"), read_inspect, "no JSON"),
    "empty": (lambda p: written(p / "a.eval", ""), read_inspect, "is empty"),
    "absent": (lambda p: p / "absent.eval", read_inspect, "There is no log"),
    "a folder": (lambda p: p, read_inspect, "is a folder"),
    "a sample without id": (lambda p: inspected(p / "a.json", [{"input": "x"}]), read_inspect, "without `id` or `input`"),
    "the other program's": (lambda p: harnessed(p / "a.jsonl", [line(i, acc=1) for i in range(3)]), read_inspect, "no JSON"),
    "cut lines": (lambda p: cut(harnessed(p / "a.jsonl", [line(i, acc=1) for i in range(3)])), read_lm_eval, "line 3, is no JSON"),
    "results": (lambda p: written(p / "results.json", '{\n "results": {}\n}'), read_lm_eval, "is no JSON"),
    "other lines": (lambda p: written(p / "a.jsonl", '{"x": 1}\n'), read_lm_eval, "no `doc_id`"),
    "a zip": (lambda p: inspected(p / "a.eval", [sample(1, "C")]), read_lm_eval, "is a zip"),
    "no lines": (lambda p: written(p / "a.jsonl", "\n\n"), read_lm_eval, "holds no samples"),
    "a folder without samples": (lambda p: p, read_lm_eval, "has no file `samples_"),
    "two runs in one file": (lambda p: harnessed(p / "a.jsonl", [line(1, acc=1)] * 2), read_lm_eval, "stands twice for filter `none`"),
}  # fmt: skip


def zipped(path: Path, name: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "text")
    return path


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_told_in_words_with_a_hint(tmp_path: Path, what: str) -> None:
    make, read, told = BAD[what]

    with pytest.raises(UsageError, match=told) as caught:
        read(make(tmp_path))
    assert caught.value.hint


def test_a_field_to_cluster_by_has_to_be_in_every_row(tmp_path: Path) -> None:
    path = inspected(tmp_path / "a.eval", [sample(i, "C") for i in range(3)])

    assert [row.cluster for row in read_inspect(path, cluster="text").rows] == ["0", "1", "2"]
    with pytest.raises(UsageError, match="has no field `texts`") as caught:
        read_inspect(path, cluster="texts")
    assert "`text`" in caught.value.hint


def test_logs_of_one_model_are_told_apart_by_their_files(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    rows = [sample(i, "C") for i in range(3)]
    one, other = inspected(tmp_path / "a.eval", rows), inspected(tmp_path / "b.eval", rows)
    same = inspected(tmp_path / "x" / "a.eval", rows)

    assert {s.table.log.label for s in inspect_pair(one, other).standings} == {"lab/one (a)", "lab/one (b)"}
    assert {s.table.log.label for s in inspect_pair(one, same).standings} == {"lab/one (a) #1", "lab/one (a) #2"}


def test_a_small_file_that_could_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("header.json", " " * 10**6)
    with pytest.raises(UsageError, match="compressed as inspect_ai compresses no log"):
        read_inspect(path)


def test_a_path_that_no_system_takes_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too long"):
        read_lm_eval(tmp_path / ("a" * 300))


@pytest.mark.parametrize(("ends", "is_cut"), [('{"doc_', True), ('{"doc_\n', False)])
def test_a_last_line_that_was_cut_is_told_apart_from_a_bad_one(tmp_path: Path, ends: str, is_cut: bool) -> None:
    path = harnessed(tmp_path / "a.jsonl", [line(0, acc=1)])
    with path.open("a") as file:
        file.write(ends)
    with pytest.raises(UsageError, match="line 2, is no JSON") as caught:
        read_lm_eval(path)
    assert ("the last line was cut" in str(caught.value.hint)) is is_cut
