"""Files and folders of a command line as values: which parameter a text is for, and what is said where that is not clear."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.errors import UsageError
from tracebench_core.specs import Parameter
from tracebench_engine.cli.parts import given_files
from tracebench_engine.cli.parts.given_files import read_all, read_values

PROMPT = Parameter(name="prompt", kind="text", initial="")
NOTE = Parameter(name="note", kind="text", initial="")
SOLVE = Parameter(name="solve", kind="code", initial="")
X = Parameter(name="x", kind="number", initial=0.0)
TREE = Parameter(name="tree", kind="files", initial={"src/main.py": "old", "src/util.py": "old", "README": "old"})
THREE = "`README`, `src/main.py`, `src/util.py`."
LONE = Parameter(name="lone", kind="files", initial={"main.py": "old"})


def told(file: Path, *parameters: Parameter) -> Any:
    """Return the values of a file, or the words of the refusal and its hint, with the folder as `DIR`."""
    try:
        return read_values(file, parameters, "s:t")
    except UsageError as err:
        return str(err).replace(str(file.parent), "DIR"), (err.hint or "").replace(str(file.parent), "DIR")


@pytest.mark.parametrize(
    ("name", "parameters", "values"),
    [
        ("a.txt", [PROMPT], {"prompt": "text"}),
        ("a.py", [PROMPT], {"prompt": "text"}),
        ("a.py", [PROMPT, SOLVE], {"solve": "text"}),
        ("a.txt", [PROMPT, SOLVE, X], {"prompt": "text"}),
        ("note.txt", [PROMPT, NOTE], {"note": "text"}),
        ("solve.txt", [PROMPT, SOLVE], {"solve": "text"}),
        ("a.txt", [LONE, X], {"lone": {"main.py": "text"}}),
        ("util.py", [TREE], {"tree": {"src/main.py": "old", "src/util.py": "text", "README": "old"}}),
        (
            "a.txt",
            [PROMPT, NOTE],
            (
                "`DIR/a.txt` is one text, and the task has 2 that it may be; it has the name of none: `prompt.txt`, `note.txt`.",
                "mkdir -p given && cp DIR/a.txt given/prompt.txt && trace-bench evaluate s:t given/prompt.txt",
            ),
        ),
        (
            "other.py",
            [TREE],
            (
                "`DIR/other.py` is one text, and the task has 3 that it may be; it has the name of none: " + THREE,
                "mkdir -p given && cp DIR/other.py given/README && trace-bench evaluate s:t given/README",
            ),
        ),
        (
            "a.txt",
            [X],
            (
                "`DIR/a.txt` is one text, and the task has no parameter that takes one.",
                "give a `.json` file with an object of values by parameter: x",
            ),
        ),
    ],
)  # fmt: skip
def test_a_text_is_for_the_one_parameter_or_file_that_it_can_be(
    tmp_path: Path, name: str, parameters: list[Parameter], values: Any
) -> None:
    (tmp_path / name).write_text("text")
    assert told(tmp_path / name, *parameters) == values


def test_a_file_that_two_paths_end_as_is_asked_about_and_more_of_its_own_path_decides(tmp_path: Path) -> None:
    tree = Parameter(name="tree", kind="files", initial={"a/x.py": "", "b/x.py": "", "c.py": ""})
    (tmp_path / "b").mkdir()
    for place in (tmp_path / "x.py", tmp_path / "b/x.py"):
        place.write_text("text")
    words, hint = told(tmp_path / "x.py", tree)
    assert words.endswith("the task has 3 that it may be; it may be any of these: `a/x.py`, `b/x.py`.")
    assert hint == "mkdir -p given/a && cp DIR/x.py given/a/x.py && trace-bench evaluate s:t given/a/x.py"
    assert told(tmp_path / "b/x.py", tree)["tree"] == {"a/x.py": "", "b/x.py": "text", "c.py": ""}


def test_ten_names_are_told_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "z.txt").write_text("text")
    words, _ = told(tmp_path / "z.txt", *(Parameter(name=f"p{i}", kind="text", initial="") for i in range(11)))
    assert "has 11 that it may be" in words
    assert words.endswith("`p9.txt`.")


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ({"x": 2.0}, {"x": 2.0}),
        ([1], ("`DIR/a.json` holds no object of values by parameter.", "its keys are of `x`, `prompt`")),
        ({"y": 2.0}, ("`DIR/a.json` cannot be evaluated:", "the task's parameters are `x`, `prompt`")),
    ],
)
def test_a_json_file_holds_values_by_parameter(tmp_path: Path, content: Any, values: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    found = told(tmp_path / "a.json", X, PROMPT)
    assert found == values or (found[0].startswith(values[0]) and found[1] == values[1])


@pytest.mark.parametrize(
    ("files", "parameters", "values"),
    [
        ({"prompt.md": "p", "solve.py": "s", "x": "no"}, [PROMPT, SOLVE, X], {"prompt": "p", "solve": "s"}),
        (
            {"src/util.py": "new", "more/a": "b", ".git/x": "no", "__pycache__/x": "no", "src/node_modules/x": "no"},
            [TREE, X],
            {"tree": {"src/main.py": "old", "src/util.py": "new", "README": "old", "more/a": "b"}},
        ),
        ({"below/prompt.md": "p"}, [PROMPT], ("`DIR/given` holds nothing for the task.", "its parameters are `prompt`; ls DIR/given")),
        ({".hidden": "p"}, [TREE], ("`DIR/given` holds nothing for the task.", "its parameters are `tree`; ls DIR/given")),
        (
            {"prompt.md": "p", "prompt.txt": "p"},
            [PROMPT],
            ("`DIR/given` has several files for `prompt`: `prompt.md`, `prompt.txt`.", "keep one of them: ls DIR/given"),
        ),
    ],
)  # fmt: skip
def test_a_folder_gives_a_file_to_each_parameter_or_its_files_to_the_one_tree(
    tmp_path: Path, files: dict[str, str], parameters: list[Parameter], values: Any
) -> None:
    for name, text in files.items():
        (tmp_path / "given" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "given" / name).write_text(text)
    (tmp_path / "given/link").symlink_to(tmp_path)
    assert told(tmp_path / "given", *parameters) == values


def test_a_folder_of_as_many_files_as_may_be_is_read_and_one_more_is_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given_files, "MOST_FILES", 2)
    for i, refused in enumerate([False, False, True]):
        (tmp_path / f"f{i}").write_text("new")
        found = told(tmp_path, TREE)
        assert isinstance(found, tuple) is refused
    assert "holds more than 2 files." in found[0]


def test_a_file_of_the_largest_size_is_read_and_a_longer_one_or_a_pipe_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(given_files, "LARGEST", 4)
    (tmp_path / "a.txt").write_text("1234")
    assert told(tmp_path / "a.txt", PROMPT) == {"prompt": "1234"}
    (tmp_path / "a.txt").write_text("12345")
    assert told(tmp_path / "a.txt", PROMPT) == (
        "`DIR/a.txt` cannot be read: it has more than 4 bytes.",
        "ls -l DIR/a.txt",
    )
    os.mkfifo(tmp_path / "pipe")
    assert told(tmp_path / "pipe", PROMPT)[0] == "`DIR/pipe` cannot be read: it is a pipe or a device, and no file."
    (tmp_path / "b").write_bytes(b"\xff")
    assert told(tmp_path / "b", PROMPT)[0].startswith("`DIR/b` cannot be read: 'utf-8' codec")
    assert told(tmp_path / "none", PROMPT)[0].startswith("`DIR/none` cannot be read: [Errno 2]")


def test_of_several_files_those_that_have_values_are_taken_and_the_others_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad, worse = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "worse.json"
    good.write_text('{"x": 1.0}')
    bad.write_text("[]")
    worse.write_text("3")
    values, refused = read_all([good, bad, good], [X], "s:t")
    assert (values, [*refused]) == ({str(good): {"x": 1.0}}, [str(bad)])
    words = f"`{bad}` holds no object of values by parameter."
    assert capsys.readouterr().err == f"left out: {words}  hint: its keys are of `x`\n"
    with pytest.raises(UsageError) as caught:
        read_all([bad], [X], "s:t")
    assert str(caught.value) == words
    with pytest.raises(UsageError) as caught:
        read_all([bad, worse], [X], "s:t")
    assert str(caught.value) == f"{words}; `{worse}` holds no object of values by parameter."
    assert caught.value.hint == "its keys are of `x`"
    assert read_all([], [X], "s:t") == ({}, {})
