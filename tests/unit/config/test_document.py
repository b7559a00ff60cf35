"""A config as a document: how large and deep it may be, where its lines are, and what is said where it is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import ConfigError, TraceBenchError, UsageError
from tracebench_engine.config import document
from tracebench_engine.config.document import parse, read, unfit_for_json, value
from tracebench_engine.config.slips import find_slip
from tracebench_engine.matrix.mistakes import Mistakes


def nested(levels: int) -> Any:
    inner: Any = 1
    for _ in range(levels):
        inner = [inner]
    return inner


def told(data: Any) -> list[tuple[tuple[str | int, ...], str]]:
    return [(problem.loc, problem.text) for problem in unfit_for_json(data)]


def test_a_hundred_levels_are_taken_and_one_more_is_told_once() -> None:
    assert told({"a": nested(99)}) == []
    [(loc, text)] = told({"a": nested(100), "b": 1})
    assert (loc, text) == (("a", 0, 0), "holds more than 1,000,000 values or 100 levels, or refers to itself.")


def test_as_many_values_as_a_config_may_hold_are_taken_and_one_more_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_VALUES", 4)
    assert told({"a": [1, 2]}) == []
    assert [text for _, text in told({"a": [1, 2, 3]})] == [
        "holds more than 4 values or 100 levels, or refers to itself."
    ]


def test_a_file_at_the_most_is_read_and_one_byte_more_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(document, "MOST_BYTES", 2**20)
    path = tmp_path / "c.yaml"
    path.write_bytes(b"#" * 2**20)
    assert read(path).data == {}
    path.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(ConfigError, match=r"is longer than 1 MB: that is no run config\.$"):
        read(path)


@pytest.mark.parametrize(
    ("data", "problems"),
    [
        ({"a": float("nan")}, [(("a",), "is nan: numbers in a config are finite.")]),
        ({"a": [0.5, float("inf")]}, [(("a", 1), "is inf: numbers in a config are finite.")]),
        ({"a": -(10**400)}, [(("a",), "is a whole number of over 308 digits: no float is as large.")]),
        ({"a": 10**308}, []),
        ({"a": b"x"}, [(("a",), "is a bytes, which a config cannot hold.")]),
        ({1: 2}, [((), "has the key `1`: keys are text, write it in quotes.")]),
        ({"a": {"b": 2, 5: None}}, [(("a",), "has the key `5`: a decimal comma? Write `2.5`.")]),
        ({"a": {"b": 2, 5: 1}}, [(("a",), "has the key `5`: keys are text, write it in quotes.")]),
        ({"a": {"b": "x", 5: None}}, [(("a",), "has the key `5`: keys are text, write it in quotes.")]),
        ({"a": {"b": True, 5: None}}, [(("a",), "has the key `5`: keys are text, write it in quotes.")]),
        ({"usd": None, "b": True, "c": "", "d": 0, "e": ()}, []),
    ],
)  # fmt: skip
def test_what_json_cannot_hold_is_told_with_its_place(data: Any, problems: list[Any]) -> None:
    assert told(data) == problems


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("010", "010"), ("1:30", "1:30"), ("2024-01-02", "2024-01-02"), ("1e-3", 0.001), ("1E5", 1e5), ("+2e3", 2000.0), ("0x1F", 31),
        ("1_000", 1000), ("-0", 0), ("-7", -7), ("1.", 1.0), (".5", 0.5), ("-.5e-1", -0.05), ("1e", "1e"), ("e5", "e5"), (".", "."),
        ("08", "08"), ("0b1", "0b1"), ("1_0.5", 10.5),
    ],
)  # fmt: skip
def test_numbers_are_what_everybody_takes_for_numbers(text: str, read_as: Any) -> None:
    assert (value(text), type(value(text))) == (read_as, type(read_as))


@pytest.mark.parametrize("is_json", [False, True])
def test_the_line_of_a_field_is_that_of_its_deepest_part_that_is_there(is_json: bool) -> None:
    text = '{"a": 1,\n "b": [2,\n  {"c":\n   3}]}'
    held = parse(text, origin="c", is_json=is_json)
    lines = {("a",): 1, ("b",): 2, ("b", 0): 2, ("b", 1): 3, ("b", 1, "c"): 3, ("b", 1, "x"): 3, ("b", 2): 2, ("x",): 1}
    assert {loc: held.line(loc) for loc in lines} == lines


def test_an_empty_config_is_an_empty_mapping_without_lines() -> None:
    for text in ("", "# nothing\n", "null"):
        assert parse(text, origin="c").data == {}
    assert (parse("", origin="c").line(("a",)), parse("", origin="c", is_json=True).data) == (None, {})


@pytest.mark.parametrize(
    ("text", "is_json", "words"),
    [
        ("a: 1\nb: 2\na: 3", False, "line 3: `a` is written twice, first on line 1."),
        ('{"a": 1,\n"a": 2}', True, "line 2: `a` is written twice, first on line 1."),
        ('{"a": 1,}', True, "`c`, line 1: not valid JSON:"),
        ("- a:b\n- c:d", False, "Write `tasks: [a:b, c:d]`."),
        ("- a:b\n- 5", False, "must be a mapping of fields to values, not a list."),
        ("tasks:\n- a:b\n   - c:d", False, "write `- a:b` and `- c:d` with the dashes in one column"),
        ("a: 'x\nb: y", False, "not valid YAML"),
    ],
)
def test_what_is_no_config_is_told_with_its_line(text: str, is_json: bool, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, origin="c", is_json=is_json)
    assert words in str(caught.value)


def test_keys_that_are_merged_may_repeat() -> None:
    text = "x: &x {a: 1}\ny: &y {b: 2}\nz:\n  <<: *x\n  <<: *y\n  c: 3"
    assert parse(text, origin="c").data["z"]["c"] == 3


def test_a_file_that_is_not_there_is_told_with_one_that_is_nearly_called_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path / "benchh.yaml")
    assert (str(caught.value).endswith("does not exist."), caught.value.hint) == (
        True, "trace-bench init config mine.yaml",
    )  # fmt: skip
    (tmp_path / "bench.yaml").write_text("")
    (tmp_path / "benchh.txt").write_text("")
    with pytest.raises(ConfigError) as caught:
        read(tmp_path / "benchh.yaml")
    assert str(caught.value).endswith(f"does not exist. Did you mean `{tmp_path / 'bench.yaml'}`?")
    assert caught.value.hint == f"ls {tmp_path}"
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read(tmp_path / "latin.yaml")
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory\."):
        read(tmp_path)


def test_a_byte_order_mark_is_no_part_of_a_config(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"\xef\xbb\xbfmode: stub")
    assert read(tmp_path / "c.yaml").data == {"mode": "stub"}


def mistaken(count: int, *, hints: int = 1) -> Mistakes:
    mistakes = Mistakes()
    for i in range(count):
        with mistakes.at("tasks", i):
            raise UsageError(f"No {i}.", hint=f"try {i % hints}")
    return mistakes


def test_thirty_mistakes_are_told_in_full_and_of_more_how_many() -> None:
    for count, lines in ((30, 30), (31, 31), (35, 31)):
        with pytest.raises(ConfigError) as caught:
            mistaken(count).tell()
        assert len(str(caught.value).splitlines()) == lines
        assert len(caught.value.parts) == 30
        assert str(caught.value).startswith("No 0.\nNo 1.\n")
        assert str(caught.value).endswith("No 29." if count == 30 else f"… and {count - 30} more.")


def test_one_mistake_is_raised_as_it_is_and_none_is_nothing() -> None:
    mistaken(0).tell()
    assert (bool(mistaken(0)), bool(mistaken(1))) == (False, True)
    with pytest.raises(UsageError, match=r"No 0\.") as caught:
        mistaken(1).tell()
    assert caught.value.field == ("tasks", 0)


def test_each_hint_and_each_mistake_is_told_once_and_a_field_of_its_own_stays() -> None:
    mistakes = mistaken(4, hints=2)
    for field in ("a", "b"):
        with mistakes.at(field):
            raise UsageError("No 0.", hint="another")
    with mistakes.at("c"):
        own = UsageError("Own.")
        own.field = ("d",)
        raise own
    with pytest.raises(ConfigError) as caught:
        mistakes.tell()
    assert (caught.value.hint or "").split() == ["try", "0", "try", "1"]
    assert [part.field for part in caught.value.parts] == [("tasks", i) for i in range(4)] + [("d",)]
    assert all(isinstance(part, TraceBenchError) for part in caught.value.parts)


def test_a_slip_is_looked_for_in_the_line_and_the_two_before_it() -> None:
    for blank in (0, 1, 2, 3):
        found = find_slip("mode stub\n" + "# so\n" * blank + "x: 1", blank + 1)
        assert (found is not None and "no colon after the field" in found.words) is (blank < 3)


def test_a_hundred_open_brackets_are_followed_and_no_more() -> None:
    for levels, is_told in ((100, True), (101, False)):
        found = find_slip("\n" + "[" * levels, 2)
        assert (found is not None and "the list that begins in line 2 is not closed" in found.words) is is_told
