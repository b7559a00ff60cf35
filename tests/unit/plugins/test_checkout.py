"""The checkout that the bench is installed from, its extras, and what a tool of `uv` is told to install anew."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tracebench_core import checkout as asked
from tracebench_core.checkout import ask_for_more, checkout, extras, from_checkout, is_here, lines, name_of, offered

Installed = Callable[..., None]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """Install a distribution before all others: what it requires, and where it was installed from."""
    site = tmp_path / "first"
    monkeypatch.syspath_prepend(str(site))

    def install(name: str, *requires: str, address: str | None = None) -> None:
        info = site / f"{name.replace('-', '_')}-9.0.dist-info"
        info.mkdir(parents=True)
        needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n{needs}")
        if address is not None:
            (info / "direct_url.json").write_text(address)

    return install


@pytest.mark.parametrize("scheme", ["file", "https"])
def test_a_checkout_is_a_folder_that_is_there(installed: Installed, tmp_path: Path, scheme: str) -> None:
    folder = tmp_path / "a folder"
    installed("tracebench-core", address=json.dumps({"url": f"{scheme}://{str(folder).replace(' ', '%20')}"}))
    assert checkout() is None
    folder.mkdir()
    assert checkout() == (folder if scheme == "file" else None)


@pytest.mark.parametrize("address", [None, "", "{}", "{", '{"url": ""}'])
def test_what_was_installed_from_an_index_has_no_checkout(installed: Installed, address: str | None) -> None:
    installed("tracebench-core", address=address)
    assert checkout() is None
    assert from_checkout("all") is None


def test_whether_a_distribution_is_here(installed: Installed) -> None:
    assert not is_here("nobody-has-this")
    installed("nobody-has-this")
    assert is_here("nobody-has-this")


PROJECT = """
[project]
name = "acme"
[project.entry-points."tracebench.commands"]
ui = "a:b"
lab = "a:c"
"""


@pytest.mark.parametrize(
    ("text", "name", "commands"),
    [
        (PROJECT, "acme", {"ui", "lab"}), ("[project]\nversion = '1'", "", set()), ("[tool]", "", set()), ("[", "", set()),
        (None, "", set()),
    ],
)  # fmt: skip
def test_a_project_tells_its_name_and_entry_points(
    tmp_path: Path, text: str | None, name: str, commands: set[str]
) -> None:
    project = tmp_path / "pyproject.toml"
    if text is not None:
        project.write_text(text)
    assert name_of(project) == name
    assert offered(project, "tracebench.commands") == commands
    assert offered(project, "tracebench.other") == set()


REQUIRES = (
    "pydantic>=2",
    'tracebench-viewer[streamlit]>=0.1,<1; extra == "ui"',
    "tracebench-opto (>=0.1) ; extra == 'opto'",
    'altair; extra == "ui"',
    'plain>=1; python_version > "3" and extra == "u.i"',
)


def test_an_extra_is_what_it_requires(installed: Installed) -> None:
    installed("tracebench-engine", *REQUIRES)
    assert lines("ui") == [("tracebench-viewer", "[streamlit]", ">=0.1,<1"), ("altair", "", "")]
    assert lines("opto") == [("tracebench-opto", "", ">=0.1")]
    assert lines("u.i") == [("plain", "", ">=1")]
    assert lines("none") == []
    assert extras() == ["ui", "opto"]


def test_an_extra_is_installed_from_the_checkout_as_far_as_it_is_there(installed: Installed, tmp_path: Path) -> None:
    folder = tmp_path / "of mine"
    for place in ("plugins/viewer", "libs/other", "docs/opto"):
        (folder / place).mkdir(parents=True)
        (folder / place / "pyproject.toml").write_text(f"[project]\nname = 'tracebench-{place.partition('/')[2]}'\n")
    installed("tracebench-core", address=json.dumps({"url": folder.as_uri()}))
    installed("tracebench-engine", *REQUIRES)
    assert from_checkout("ui") == f"-e '{folder}/plugins/viewer[streamlit]' altair"
    assert from_checkout("opto") is None  # a checkout's parts are in `plugins` and `libs`
    assert from_checkout("none") is None


def test_without_the_bench_there_is_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "BENCH", "nobody-has-this")
    assert (extras(), lines("ui")) == ([], [])


RECEIPT = """
[tool]
python = "3.12"
requirements = [
  { name = "tracebench-engine", extras = ["ui", "opto"], specifier = ">=0.1" },
  { name = "acme", url = "https://x/acme.whl" },
  { name = "there", git = "https://x/there.git" },
  { name = "here", editable = "/src/here", extras = ["a"] },
  { name = "near", directory = "/src/near" },
  { name = "plain" },
]
[tool.options]
find-links = ["/wheels"]
"""
COMMAND = (
    "uv tool install --python 3.12 --find-links /wheels 'tracebench-engine[ui,opto]>=0.1' --with 'acme @ https://x/acme.whl' "
    "--with 'there @ git+https://x/there.git' --with '/src/here[a]' --with /src/near --with plain"
)


@pytest.mark.parametrize(
    ("receipt", "words", "command"),
    [
        (RECEIPT, "more", f"{COMMAND} --with more"),
        (RECEIPT, "'two words' plain -e /src/x", f"{COMMAND} --with 'two words' --with /src/x"),
        (RECEIPT, "--pre more", None),
        (RECEIPT, "-U more", None),
        ("[tool]\nrequirements = [{name = 'b'}]", "more", "uv tool install b --with more"),
        ("[tool]\nrequirements = []", "more", None),
        ("[tool]", "more", None),
        ("[", "more", None),
        (None, "more", None),
    ],
)
def test_a_tool_of_uv_is_installed_anew_with_what_it_has_and_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, receipt: str | None, words: str, command: str | None
) -> None:
    if receipt is not None:
        (tmp_path / "uv-receipt.toml").write_text(receipt)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert ask_for_more(words, uv="uv") == command
