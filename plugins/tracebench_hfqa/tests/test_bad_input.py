"""Bad input, whole: hostile replies to every row that ships, right answers however they are decorated, and rows that are no rows.

Faults of a task file are in `test_declared.py`, those of a hub in `test_hub.py`. All of them, in an environment with `datasets`:

    TRACEBENCH_HEAVY=datasets python -m pytest plugins/tracebench_hfqa/tests/test_{bad_input,declared,hub}.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from itertools import product
from math import fsum
from pathlib import Path
from typing import Any

import pytest
from tests.whole import cells

from tracebench_core.errors import ConfigError
from tracebench_hfqa.declared import SHIPPED, shipped_entries
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case, Family, within_reach
from tracebench_hfqa.rows.folder import read_file
from tracebench_hfqa.rows.opening import Opened, open_rows, read_cases
from tracebench_hfqa.rows.source import Settings

SAMPLES = SHIPPED.parent / "samples"
ENTRIES = {entry.id: entry for entry in shipped_entries()}


def is_tried(name: str) -> bool:
    """Tell whether replies of a family are read for an answer; programs and dialogues are not, and instructions are kept by chance."""
    family = find_family(name)
    return (
        not family.sandboxed
        and not family.dialogue
        and name != "ifeval"
        and all(find_spec(needed.name) for needed in family.requires)
    )


FILES = {
    path.stem: entry
    for path in sorted(SAMPLES.glob("*.jsonl"))
    for entry in ENTRIES.values()
    if path.name.lower().startswith(entry.dataset_id.rpartition("/")[2].lower() + ".")
    and is_tried(entry.family)
    and (entry.family != "bbeh" or path.stem.endswith(("boardgame_qa", "object_counting", "word_sorting")))
}
"""A file per data set; of BBEH's 23, which share one scorer, one with options, one with numbers and one with lists."""
F1_OF_AN_ECHO = 0.45
"""The most that the authors' F1 gives, on the average of a file, to a reply which repeats words of the question."""


def everything(case: Case) -> str:
    return "\n".join(f"({label}) {text}" for label, text in case.options) or " ".join(map(str, range(100)))


def other(case: Case) -> str:
    """Return an answer that is not the right one, of the same kind."""
    gold = case.gold[0] if isinstance(case.gold, list) else case.gold
    if case.options:
        return next(label for label, _ in case.options if label != str(gold))
    if isinstance(gold, bool):
        return "no" if gold else "yes"
    return "424242" if str(gold).replace(".", "").isdigit() else "qqqq"


HOSTILE: dict[str, Callable[[Case, str], str]] = {
    "empty": lambda _c, _g: "",
    "blank": lambda _c, _g: " \n\t\u00a0 ",
    "control characters": lambda _c, _g: "\x00\u202e\ufeff",
    "half of a surrogate pair": lambda _c, _g: "\ud800",
    "echo of the question": lambda c, _g: c.question,
    "echo of the context": lambda c, _g: f"{c.context}\n{c.question}",
    "list of everything": lambda c, _g: everything(c),
    "a megabyte": lambda _c, _g: "word " * 200_000,
    "a megabyte of boxes": lambda _c, _g: "\\boxed{" * 150_000,
    "refusal": lambda _c, _g: "I'm sorry, but I can't help with that.",
    "refusal with reasons": lambda _c, _g: "As an AI language model, I do not have enough information to answer.",
    "takes it back": lambda c, g: f"The answer is: {g}\nWait, that is wrong. The answer is: {other(c)}",
}
REPLIES = [*product(FILES, HOSTILE)]
BRIEF = [(stem, kind) for stem, kind in REPLIES if "megabyte" not in kind or stem in [*FILES][::4]]
DECORATED: dict[str, Callable[[str], str]] = {
    "bare": str,
    "white space": lambda g: f"\r\n\u00a0{g}\u00a0\r\n",
    "full stop": lambda g: f"{g}.",
    "bold": lambda g: f"**{g}**",
    "boxed": lambda g: f"\\boxed{{{g}}}",
    "boxed text in LaTeX": lambda g: f"$\\boxed{{\\text{{{g}}}}}$",
    "LaTeX": lambda g: f"${g}$",
    "marked": lambda g: f"Let me think.\nThe final answer is: {g}",
    "marked and boxed": lambda g: f"The answer is: $\\boxed{{{g}}}$",
    "code fence": lambda g: f"```\n{g}\n```",
    "code fence of a language": lambda g: f"```text\n{g}\n```",
    "code": lambda g: f"`{g}`",
    "quotes": lambda g: f"“{g}”",
    "bold marker": lambda g: f"**Answer:** {g}",
}
STRICT = {
    "bbeh": {"code fence", "code fence of a language", "code", "quotes", "bold marker"},
    "small": {*DECORATED} - {"bare", "white space"},
}
"""What a family's own script, or the task itself, does not accept: following the form is what is asked for."""


@cache
def cases_of(stem: str) -> tuple[Family, list[Case]]:
    entry = FILES[stem]
    path = SAMPLES / f"{stem}.jsonl"
    return find_family(entry.family), list(read_cases(entry, "any", read_file(path), where=path.name))[:10]


def test_every_family_is_here() -> None:
    families = {entry.family for entry in ENTRIES.values() if is_tried(entry.family)}

    assert {entry.family for entry in FILES.values()} == families


@pytest.mark.parametrize(("stem", "kind"), cells(REPLIES, always=BRIEF))
def test_bad_reply(stem: str, kind: str) -> None:
    family, cases = cases_of(stem)
    verdicts = [family.score(within_reach(HOSTILE[kind](case, family.gold_reply(case))), case) for case in cases]

    assert all(verdict.score < 1 and verdict.rule for verdict in verdicts)
    most = F1_OF_AN_ECHO if family.metric in {"f1", "score"} else 0
    assert fsum(verdict.score for verdict in verdicts) / len(verdicts) <= most


@pytest.mark.parametrize(
    ("stem", "form"), [(s, f) for s in FILES for f in DECORATED if f not in STRICT.get(FILES[s].family, ())]
)
def test_right_reply_is_no_bad_one(stem: str, form: str) -> None:
    family, cases = cases_of(stem)
    scores = [family.score(DECORATED[form](family.gold_reply(case)), case).score for case in cases]

    assert scores == [1.0] * len(cases)


UNUSABLE: dict[str, dict[str, Any]] = {
    "a gold that is a list": {"answer": ["1", "2"]},
    "a gold that is a mapping": {"answer": {"text": "many"}},
    "a gold that is no number": {"answer": "#### many"},
    "an empty question": {"question": ""},
    "a question that is a list": {"question": ["a"]},
}
EMPTY: dict[str, Any] = {
    "empty": "",
    "white space": "  ",
    "null": None,
    "empty list": [],
    "nothing after the mark": "so\n####",
}
ENDINGS = pytest.mark.parametrize("ending", ["jsonl", "parquet"])


def sums(**last: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"question": f"{i}?", "answer": f"#### {i}"} for i in range(4)]
    return [*rows[:3], {**rows[3], **last}]


@ENDINGS
@pytest.mark.parametrize("kind", UNUSABLE)
def test_bad_row_is_named_with_its_file(tmp_path: Path, kind: str, ending: str) -> None:
    refused(tmp_path, sums(**UNUSABLE[kind]), ending, "row 4")


@ENDINGS
@pytest.mark.parametrize("kind", EMPTY)
def test_bad_row_without_a_gold_is_left_out_by_name(
    tmp_path: Path, kind: str, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, sums(answer=EMPTY[kind]), ending)

    assert len(opened(tmp_path).splits["train"]) == 2
    assert f"train.{ending}`: 1 of 4 rows have no gold answer and are left out; the first: row 4" in caplog.text


@ENDINGS
@pytest.mark.parametrize("column", ["question", "answer"])
def test_bad_table_without_a_column_is_named(tmp_path: Path, column: str, ending: str) -> None:
    rows = [{k: v for k, v in row.items() if k != column} for row in sums(more="x")]
    refused(tmp_path, [{"more": "x", **row} for row in rows], ending, f"no column `{column}`")


def write(folder: Path, rows: list[dict[str, Any]], ending: str) -> None:
    """Write rows as GSM8K's."""
    path = folder / "gsm8k" / f"train.{ending}"
    path.parent.mkdir()
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    pyarrow = pytest.importorskip("pyarrow", reason='needs `pip install "tracebench-hfqa[parquet]"`')
    from pyarrow import parquet

    try:
        table = pyarrow.Table.from_pylist(rows)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        pytest.skip("a column of a table has one type: such a row cannot be written")
    parquet.write_table(table, path)


def opened(folder: Path) -> Opened:
    sizes: dict[Any, int] = {"train": 2, "validation": 1, "test": 0}
    return open_rows(ENTRIES["gsm8k"], subtask=None, sizes=sizes, seed=0, settings=Settings("folder", folder))


def refused(folder: Path, rows: list[dict[str, Any]], ending: str, words: str) -> None:
    """Expect an error that names the file and says these words."""
    write(folder, rows, ending)
    with pytest.raises(ConfigError, match=f"train.{ending}") as told:
        opened(folder)
    assert words in str(told.value)
