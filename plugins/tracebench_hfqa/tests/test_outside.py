"""What is outside (a hub, `math-verify`, `pyarrow`) is a small program of the test's own here: what we do about it is asked alone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ConfigError, MissingRequirementError
from tracebench_hfqa.declared import shipped_entries
from tracebench_hfqa.families import symbolic
from tracebench_hfqa.rows import folder
from tracebench_hfqa.rows.hub import cache_root, deadline, open_split, read_kept
from tracebench_hfqa.rows.opening import read_cases

GSM8K = next(entry for entry in shipped_entries() if entry.id == "gsm8k").model_copy(update={"revision": None})
LIBRARY = """
import datetime, json, os, sys, time
def disable_progress_bars():
    pass
class Array:
    def tolist(self):
        return [1, 2]
def load_dataset(name, config, split, revision):
    with open(os.environ["ASKED"], "a") as file:
        file.write(json.dumps([name, config, split, revision]) + "\\n")
    exec(os.environ.get("TROUBLE", ""))
    return [{"question": "é?", "answer": Array(), "on": datetime.date(2020, 1, 2)}, {"question": "b", "answer": "2"}]
"""
HUB = """
class HfApi:
    def dataset_info(self, name, timeout):
        return type("Info", (), {"sha": "c0ffee"})()
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of libraries that the process of a download finds first."""
    found = tmp_path / "library"
    found.mkdir()
    (found / "datasets.py").write_text(LIBRARY)
    (found / "huggingface_hub.py").write_text(HUB)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(found), *sys.path]))
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRACEBENCH_HF_DEADLINE", raising=False)
    return found


def asked(tmp_path: Path) -> list[list[Any]]:
    return [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]


def test_a_split_is_downloaded_once_and_its_commit_stays_in_use(library: Path, tmp_path: Path) -> None:
    path, commit = open_split(GSM8K, "train")
    kept = tmp_path / "cache/trace-bench/hf/openai--gsm8k/main"
    assert (path, commit) == (kept / "c0ffee/train.jsonl", "c0ffee")
    assert [*read_kept(path)] == [
        {"question": "é?", "answer": [1, 2], "on": "2020-01-02"}, {"question": "b", "answer": "2"},
    ]  # fmt: skip
    assert "é" in path.read_text(encoding="utf-8")
    assert sorted(file.name for file in kept.iterdir()) == ["c0ffee", "revision"], "nothing half done is left"

    (library / "huggingface_hub.py").write_text(HUB.replace("c0ffee", "another"))
    assert open_split(GSM8K, "train") == (path, commit)
    assert open_split(GSM8K, "test") == (kept / "c0ffee/test.jsonl", "c0ffee")
    assert asked(tmp_path) == [["openai/gsm8k", "main", split, "c0ffee"] for split in ("train", "test")]


def test_a_revision_that_is_named_pins_nothing_and_a_data_set_without_configs_has_a_place(
    library: Path, tmp_path: Path
) -> None:
    assert library.is_dir()
    entry = GSM8K.model_copy(update={"revision": "v2", "dataset_config": None})
    path, commit = open_split(entry, "train")
    assert (path, commit) == (cache_root() / "openai--gsm8k/default/v2/train.jsonl", "v2")
    assert [file.name for file in path.parents[1].iterdir()] == ["v2"]
    assert open_split(entry.model_copy(update={"revision": None}), "train")[1] == "c0ffee"
    assert asked(tmp_path)[0] == ["openai/gsm8k", None, "train", "v2"]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("trouble", "revision", "said"),
    [
        ("print('x', file=sys.stderr); raise ValueError('no such split')", None, "ValueError: no such split."),
        ("raise ValueError('y' * 500)", "v2", "y" * 400 + "."),
        ("os._exit(7)", None, "exit code 7."),
    ],
)
def test_a_download_that_fails_is_told_by_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str, revision: str | None, said: str
) -> None:
    monkeypatch.setenv("TROUBLE", trouble)
    with pytest.raises(ConfigError) as error:
        open_split(GSM8K.model_copy(update={"revision": revision}), "train")
    at = f" at `{revision}`" if revision else ""
    what = f"`hf:gsm8k`: the split `train` of `openai/gsm8k`{at} could not be downloaded: "
    assert str(error.value) == what + said
    assert "TRACEBENCH_HF_DATA=<folder>" in str(error.value.hint)
    assert "TRACEBENCH_HF_SOURCE=sample" in str(error.value.hint)
    assert not [*(tmp_path / "cache").rglob("*.jsonl")]
    assert not [*(tmp_path / "cache").rglob("part-*")]


def test_a_download_has_a_deadline_and_says_its_name(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert library.is_dir()
    monkeypatch.setenv("TROUBLE", "time.sleep(60)")
    monkeypatch.setenv("TRACEBENCH_HF_DEADLINE", "0.2")
    with pytest.raises(ConfigError, match=r"was not there after 0\.2 seconds \(TRACEBENCH_HF_DEADLINE\)"):
        open_split(GSM8K, "train")


@pytest.mark.parametrize("seconds", ["inf", "1e300", "1e6"])
def test_a_deadline_beyond_what_can_be_waited_for_is_none(
    library: Path, monkeypatch: pytest.MonkeyPatch, seconds: str
) -> None:
    assert library.is_dir()
    monkeypatch.setenv("TRACEBENCH_HF_DEADLINE", seconds)
    assert open_split(GSM8K, "train")[1] == "c0ffee"


@pytest.mark.parametrize("told", ["10m", "0", "-1", "nan"])
def test_a_deadline_that_is_no_number_of_seconds_is_named(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    assert library.is_dir()
    monkeypatch.setenv("TRACEBENCH_HF_DEADLINE", told)
    with pytest.raises(ConfigError) as error:
        open_split(GSM8K, "train")
    assert str(error.value) == f"`TRACEBENCH_HF_DEADLINE` is `{told}`, which is no number of seconds above 0."
    assert error.value.hint == "export TRACEBENCH_HF_DEADLINE=600"
    assert not [*(tmp_path / "cache").rglob("part-*")]


def test_a_deadline_is_600_seconds_where_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEBENCH_HF_DEADLINE", "")
    assert deadline() == 600
    monkeypatch.setenv("TRACEBENCH_HF_DEADLINE", "0.5")
    assert deadline() == 0.5


def test_a_revision_may_be_a_reference_with_slashes(library: Path) -> None:
    assert library.is_dir()
    path, commit = open_split(GSM8K.model_copy(update={"revision": "refs/convert/parquet"}), "train")
    assert (path, commit) == (
        cache_root() / "openai--gsm8k/main/refs/convert/parquet/train.jsonl", "refs/convert/parquet",
    )  # fmt: skip


def test_a_kept_row_in_no_known_shape_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"question": "a"}\n{"qa_pairs": 3}\n')
    with pytest.raises(
        ConfigError, match=r"train\.jsonl`, line 2: the row has a shape that is not known here \(TypeError: "
    ):
        [*read_kept(path)]


def test_without_the_library_it_says_how_to_get_it(library: Path) -> None:
    (library / "datasets.py").write_text("raise ImportError")
    with pytest.raises(MissingRequirementError, match="needs the library `datasets`") as error:
        open_split(GSM8K, "train")
    assert str(error.value.hint).endswith('"tracebench-hfqa[datasets]"')


def test_downloads_are_kept_in_the_home_where_no_other_cache_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root() == tmp_path / ".cache/trace-bench/hf"


VERIFY = """
import os, time
class LatexExtractionConfig:
    pass
def parse(text, extraction_config, parsing_timeout, fallback_mode):
    if "bad" in text:
        raise ValueError
    if "die" in text:
        os._exit(1)
    if "hang" in text:
        time.sleep(60)
    if "once" in text and not os.path.exists(text.strip("$")):
        open(text.strip("$"), "w").close()
        os._exit(1)
    return text
def verify(gold, answer, timeout_seconds):
    return gold.lower() == answer.lower()
"""


@pytest.fixture
def checker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[symbolic.Checker]:
    (tmp_path / "math_verify.py").write_text(VERIFY)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    found = symbolic.Checker()
    yield found
    found.close()


def test_expressions_are_compared_by_one_process_that_is_replaced_when_it_dies_or_hangs(
    checker: symbolic.Checker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checker.equal("x", "X")
    first = checker._process
    assert not checker.equal("x", "y")
    assert not checker.equal("bad", "bad"), "what cannot be read is not equal"
    assert checker._process is first
    assert not checker.equal("die", "die")
    assert checker._process is None
    assert checker.equal("x", "x")
    assert checker._process is not first
    monkeypatch.setattr(symbolic, "SECONDS", 0.1)
    assert not checker.equal("hang", "hang")
    assert checker._process is None


def test_a_process_that_was_ended_meanwhile_is_started_anew(checker: symbolic.Checker, tmp_path: Path) -> None:
    assert checker.equal("x", "x")
    assert checker._process is not None
    checker._process.kill()
    checker._process.wait()
    assert checker.equal("x", "x")
    once = str(tmp_path / "once")
    assert checker.equal(once, once), "who ends it while it compares does not decide what is equal"
    checker.close()
    checker.close()
    assert checker._process is None


def test_without_math_verify_it_says_how_to_get_it(checker: symbolic.Checker, tmp_path: Path) -> None:
    (tmp_path / "math_verify.py").write_text("raise ImportError\n")
    with pytest.raises(MissingRequirementError, match="compared by `math-verify`") as error:
        checker.equal("x", "x")
    assert str(error.value.hint).endswith('"tracebench-hfqa[math]"')
    assert checker._process is None


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        ("", "", False), (" ", "1", False), ("1", " ", False), ("1", "1", True),
        ("7" * 1000, "7" * 1000, True), ("7" * 1001, "7" * 1001, False), ("7", "7" * 1001, False),
    ],
)  # fmt: skip
def test_what_is_empty_or_too_long_is_equal_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gold: str, answer: str, same: bool
) -> None:
    (tmp_path / "math_verify.py").write_text(VERIFY)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr(symbolic, "_CHECKERS", {})
    try:
        assert symbolic.equal.__wrapped__(gold, answer) is same
    finally:
        for one in symbolic._CHECKERS.values():
            one.close()


PARQUET = """
import json
class Table:
    def __init__(self, rows):
        self.rows = rows
    def to_pylist(self):
        return self.rows
def read_table(path):
    try:
        return Table(json.loads(path.read_text()))
    except ValueError as err:
        raise ValueError("no magic bytes") from err
"""


@pytest.fixture
def parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for data sets, beside a reader of parquet files that are lists of rows in JSON."""
    (tmp_path / "library/pyarrow").mkdir(parents=True)
    (tmp_path / "library/pyarrow/__init__.py").touch()
    (tmp_path / "library/pyarrow/parquet.py").write_text(PARQUET)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path / "library"))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        del sys.modules[name]


def test_rows_of_parquet_files_are_flattened_like_all_others(parquet: Path) -> None:
    path = parquet / "train.parquet"
    path.write_text(
        json.dumps([{"passage": "p", "qa_pairs": [{"question": "a"}, {"question": "b"}]}, {"question": "c"}])
    )
    assert [row["question"] for row in folder.read_file(path)] == ["a", "b", "c"]
    path.write_text("torn")
    with pytest.raises(ConfigError, match=r"train\.parquet` cannot be read: no magic bytes\.") as error:
        [*folder.read_file(path)]
    assert error.value.hint == "download the file again"


def put(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")


BBEH = next(entry for entry in shipped_entries() if entry.subtasks)


@pytest.mark.parametrize(
    ("there", "found"),
    [
        (("bbeh/data/{}-0.parquet", "bbeh/data/{}-1.parquet"), ["bbeh/data/{}-0.parquet", "bbeh/data/{}-1.parquet"]),
        (("bbeh/{}-1.parquet", "bbeh/{}-0.parquet"), ["bbeh/{}-0.parquet", "bbeh/{}-1.parquet"]),
        (("bbeh/{}.json", "bbeh/{}.jsonl", "bbeh/{}-0.parquet"), ["bbeh/{}.jsonl"]),
        (("benchmark_tasks/bbeh_{}/task.json",), ["benchmark_tasks/bbeh_{}/task.json"]),
        (("bbeh/{}/task.json",), ["bbeh/{}/task.json"]),
    ],
)
def test_the_files_of_a_subtask(tmp_path: Path, there: tuple[str, ...], found: list[str]) -> None:
    name = BBEH.subtasks[0]
    put(tmp_path, *(path.format(name) for path in there))
    files = folder.files_for(tmp_path, BBEH, "train", subtask=name)
    assert files == [tmp_path / path.format(name) for path in found]


def test_the_most_particular_folder_that_has_a_subtask_is_taken_alone(tmp_path: Path) -> None:
    name = BBEH.subtasks[0]
    put(tmp_path, f"{BBEH.dataset_id}/{name}-0.parquet", f"bbeh/{name}.jsonl")
    places = [tmp_path / BBEH.id, tmp_path / BBEH.dataset_id]
    files = folder.files_for(tmp_path, BBEH, "train", subtask=name)
    assert len(files) == 1
    assert files[0].parent == next(place for place in places if place.is_dir())


def test_a_subtask_without_a_file_is_named_with_what_is_there(tmp_path: Path) -> None:
    put(tmp_path, *(f"{BBEH.id}/{number:02}.txt" for number in range(13)))
    with pytest.raises(ConfigError) as error:
        folder.files_for(tmp_path, BBEH, "train", subtask="none_such")
    held = ", ".join(f"`{number:02}.txt`" for number in range(12))
    assert str(error.value) == f"`hf:{BBEH.id}`: no file for `none_such` in `{tmp_path / BBEH.id}`; it holds {held}."
    assert error.value.hint == "put `none_such.jsonl` there, or unset TRACEBENCH_HF_DATA"
    with pytest.raises(ConfigError) as error:
        folder.files_for(tmp_path / "nowhere", GSM8K, "test", subtask=None)
    assert str(error.value) == f"`hf:gsm8k`: no file for the split `test` in `{tmp_path / 'nowhere/gsm8k'}`."
    assert error.value.hint == "put `test.jsonl` there, or unset TRACEBENCH_HF_DATA"


@pytest.mark.parametrize(
    ("there", "split", "found"),
    [
        (("gsm8k/dev.jsonl", "gsm8k/train.jsonl"), "train", ["gsm8k/train.jsonl"]),
        (("gsm8k/dev.jsonl",), "train", ["gsm8k/dev.jsonl"]),
        (("gsm8k/val.jsonl", "gsm8k/train.jsonl"), "test", ["gsm8k/val.jsonl"]),
        (("gsm8k/training.json", "gsm8k/train.parquet"), "train", ["gsm8k/train.parquet"]),
        (("gsm8k/data/train-1.json", "gsm8k/data/train-0.json"), "train", ["gsm8k/data/train-0.json", "gsm8k/data/train-1.json"]),
        (("gsm8k/all.jsonl", "gsm8k/notes.md"), "test", ["gsm8k/all.jsonl"]),
        (("gsm8k/gsm8k.jsonl", "gsm8k/old.jsonl"), "test", ["gsm8k/gsm8k.jsonl"]),
        (("gsm8k/anything.jsonl",), "test", ["gsm8k/anything.jsonl"]),
        (("openai/gsm8k/main/train.jsonl",), "train", ["openai/gsm8k/main/train.jsonl"]),
        (("train.jsonl",), "train", ["train.jsonl"]),
        (("gsm8k/train_sft.jsonl", "gsm8k/test_sft.jsonl"), "train_sft", ["gsm8k/train_sft.jsonl"]),
        (("gsm8k/part2-0.jsonl", "gsm8k/part20.jsonl"), "Part2", ["gsm8k/part2-0.jsonl"]),
        (("gsm8k/test.jsonl", "gsm8k/latest.jsonl"), "test", ["gsm8k/test.jsonl"]),
    ],
)  # fmt: skip
def test_the_files_of_a_split(tmp_path: Path, there: tuple[str, ...], split: str, found: list[str]) -> None:
    put(tmp_path, *there)
    assert folder.files_for(tmp_path, GSM8K, split, subtask=None) == [tmp_path / name for name in found]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe")
    (tmp_path / "b.json").write_text("[1")
    (tmp_path / "c.json").write_text("3")
    for name, words in (
        ("a.jsonl", "cannot be read: "), ("none.jsonl", "cannot be read: "), ("b.json", "is not JSON: "),
        ("c.json", "is neither a list of rows nor a data set in a shape that is known here."),
    ):  # fmt: skip
        with pytest.raises(ConfigError) as error:
            [*folder.read_file(tmp_path / name)]
        assert str(error.value).startswith(f"`{tmp_path / name}` {words}")
        assert str(error.value.hint).startswith("download the file again")
    (tmp_path / "d.jsonl").write_text('\n{"question": "a"}\n \n[3]\n')
    with pytest.raises(ConfigError, match=r"d\.jsonl`, line 4: a row is a mapping of columns\.") as error:
        [*folder.read_file(tmp_path / "d.jsonl")]
    assert error.value.hint == "one JSON object a line"


BAD_ROWS = [
    {"article": "x", "questions": [{"question": "q"}]},
    {"article": "x", "questions": [{"question": "q", "options": ["a"], "gold_label": "first"}]},
    {"qa_pairs": 3},
    {"qa_pairs": [3]},
    {"qas": [{"question": "q"}], "full_text": []},
    {"qas": [], "full_text": 3},
    {"question": {"stem": "x", "choices": [{"text": "a"}]}},
    {"question": {"stem": "x", "choices": "ab"}},
]


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_row_that_only_looks_like_a_published_one_is_named(parquet: Path, row: dict[str, Any]) -> None:
    whole, lines, table = (parquet / f"train.{kind}" for kind in ("json", "jsonl", "parquet"))
    whole.write_text(json.dumps([row]))
    table.write_text(json.dumps([row]))
    lines.write_text('{"question": "fine"}\n' + json.dumps(row))
    for path, where in ((whole, ""), (table, ""), (lines, ", line 2: the row")):
        with pytest.raises(ConfigError) as error:
            [*folder.read_file(path)]
        assert str(error.value).startswith(f"`{path}`{where} has a shape that is not known here (")
        assert error.value.hint == "download the file again, or write its rows as the hub's data set has them"


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("musique", {"question": "q", "answer": "a", "answer_aliases": 3, "paragraphs": []}),
        ("qasc", {"question": "q", "answerKey": "A", "choices": {"text": 3, "label": None}}),
        ("ifeval", {"prompt": "p", "key": 1, "instruction_id_list": ["detectable_format:title"], "kwargs": [3]}),
    ],
)
def test_a_column_of_another_kind_is_named_with_its_row(name: str, row: dict[str, Any]) -> None:
    entry = next(entry for entry in shipped_entries() if entry.id == name)
    with pytest.raises(ConfigError) as error:
        [*read_cases(entry, "train", [row], where="a.jsonl")]
    assert str(error.value).startswith("`a.jsonl`, row 1: holds a column in a shape that is not known here (")
    assert error.value.hint == f"the columns are named in the task's entry, `hf:{name}`"
