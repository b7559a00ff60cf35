"""What the command prints: for a person on a terminal, for a program elsewhere."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from tracebench_core.errors import OutputError
from tracebench_engine.api.console import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put one in place of both streams; in the test itself, for before it pytest puts its own there."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "20")
    return stream


def test_on_a_terminal_a_sentence_ends_its_lines_with_a_word_and_a_command_stands_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = on_terminal(monkeypatch)
    output.prose("One two three four five six")
    output.prose("Go on with it now so: trace-bench resume x --all --failed")
    output.prose("Data\x1b[2J", is_data=True)
    assert terminal.getvalue().splitlines() == [
        "One two three four", "five six", "Go on with it now", "so:", "  trace-bench resume x --all --failed", "Data\ufffd[2J",
    ]  # fmt: skip


def test_elsewhere_a_sentence_is_one_line_and_goes_where_it_belongs(capsys: pytest.CaptureFixture[str]) -> None:
    output.prose("One two: trace-bench resume x")
    output.prose("three", is_data=True)
    assert capsys.readouterr() == ("three\n", "One two: trace-bench resume x\n")


def test_a_document_is_indented_on_a_terminal_and_a_record_never(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output.document("a", x=1)
    assert terminal.getvalue() == '{\n  "schema_version": 1,\n  "kind": "a",\n  "x": 1\n}\n'
    output.record("b", x=2)
    assert terminal.getvalue().splitlines()[-1] == '{"schema_version": 1, "event": "b", "x": 2}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        output.document("a", x=float("nan"))


def test_a_document_elsewhere_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.document("a", x=[1, None])
    assert json.loads(capsys.readouterr().out) == {"schema_version": 1, "kind": "a", "x": [1, None]}


ROWS = [("a", "1", "same"), ("b\tc", "2\n3", "same")]


def test_a_table_is_fitted_to_a_terminal_and_what_is_left_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    output.table(("name", "n", "what"), ROWS)
    assert terminal.getvalue().splitlines() == ["name  n    what", "a     1    same", "b c   2 3  same"]
    output.table(("name", "numbering", "what"), ROWS)
    assert terminal.getvalue().splitlines()[3:] == [
        "name  numbering", "a     1", "b c   2 3", "1 more in a wider", "terminal than 20:", "what (same in every", "row).",
    ]  # fmt: skip


def test_a_table_elsewhere_has_a_tab_between_cells_and_the_chosen_columns(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(("name", "n", "what"), ROWS)
    output.table(("name", "n", "what"), ROWS, columns=("n", "name"))
    output.table(("name", "n", "what"), ROWS, columns=("none",))
    assert capsys.readouterr().out.splitlines() == [
        "name\tn\twhat", "a\t1\tsame", "b c\t2 3\tsame", "n\tname", "1\ta", "2 3\tb c",
    ]  # fmt: skip


def test_texts_of_models_drive_no_terminal_and_commands_can_be_typed() -> None:
    assert output.safe("a\x1bb\x9bc\n\td\x7f") == "a\ufffdb\ufffdc\n\td\ufffd"
    assert output.flat(" a \n b\x00 ") == "a b\ufffd"
    assert output.command("show", "a b", 3) == "trace-bench show 'a b' 3"
    assert [output.number(value) for value in (None, 0.0, 1 / 3, 1234567.0)] == ["-", "0", "0.333333", "1.23457e+06"]


class Full(io.StringIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, _text: str) -> int:
        raise self.error


def test_an_output_that_cannot_be_written_is_told_and_a_reader_that_left_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", Full(OSError(28, os.strerror(28))))
    with pytest.raises(OutputError) as caught:
        output.line("x")
    assert (str(caught.value), caught.value.hint) == (
        "Standard output cannot be written: No space left on device.", "df -h",
    )  # fmt: skip
    monkeypatch.setattr(sys, "stdout", Full(BrokenPipeError()))
    with pytest.raises(BrokenPipeError):
        output.line("x")


def test_a_closed_stream_is_opened_on_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    wrapped = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", wrapped)
    output.open_streams()
    output.line("x")
    output.note("é")
    wrapped.flush()
    assert wrapped.buffer.getvalue() == b"\\xe9\n"  # type: ignore[attr-defined]
    sys.stdout.close()
