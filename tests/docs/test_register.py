"""The register of plugins: its page is current, a good entry is rendered, and a bad one is refused by name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.docs.writers import load_writer
from tests.whole import HEAVY

ROOT = Path(__file__).parents[2]
GOOD = """
name = "letters"
distribution = "tracebench-letters"
summary = "Sort, count and compare letters."
kinds = ["suite"]
licence = "MIT"
home = "https://example.org/tracebench-letters"
"""


@pytest.fixture(scope="module")
def render() -> ModuleType:
    return load_writer("render")


def test_the_page_is_current(render: ModuleType) -> None:
    assert (ROOT / "docs/reference/register.md").read_text() == render.page(), "just register"


def test_the_entry_that_the_page_on_publishing_shows_is_rendered(render: ModuleType, tmp_path: Path) -> None:
    assert GOOD in (ROOT / "docs/how-to/publish.md").read_text()
    (tmp_path / "tracebench-letters.toml").write_text(GOOD)

    assert (
        "| [`tracebench-letters`](https://example.org/tracebench-letters) | `letters` | suite | MIT |"
        in render.page(tmp_path)
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('licence = "MIT"\n', "", "has the fields"),
        ('["suite"]', '["bench"]', "`kinds` is a list of"),
        ('"https:', '"javascript:', "`home` begins with"),
        ("Sort, count", "<script>|", "`summary` is one line of plain text"),
        ('"tracebench-letters"', '"other"', "named after its distribution"),
        ('name = "letters"', "name = letters", "tracebench-letters.toml: "),
    ],
)
def test_a_bad_entry_is_refused_by_name(render: ModuleType, tmp_path: Path, old: str, new: str, words: str) -> None:
    (tmp_path / "tracebench-letters.toml").write_text(GOOD.replace(old, new, 1))

    with pytest.raises(ValueError, match=words):
        render.page(tmp_path)


def test_two_plugins_of_one_name_are_refused(render: ModuleType, tmp_path: Path) -> None:
    for distribution in ("tracebench-letters", "letters-bench"):
        (tmp_path / f"{distribution}.toml").write_text(GOOD.replace('"tracebench-letters"', f'"{distribution}"'))

    with pytest.raises(ValueError, match="switch each other off"):
        render.page(tmp_path)


def record(**changes: object) -> str:
    tasks = [{"task": "letters:sort", "withstood": 5, "believed": [], "skipped": ""}]
    tasks.append({"task": "letters:say", "withstood": 0, "believed": [], "skipped": "it runs no code of candidates"})
    found = {
        "kind": "attack",
        "withstood": 5,
        "believed": 0,
        "distributions": {"tracebench-letters": "1.2"},
        "tasks": tasks,
    }
    return json.dumps(found | changes)


def test_the_record_of_an_attack_is_shown_beside_an_entry(render: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "tracebench-letters.toml").write_text(GOOD)
    (tmp_path / "attacks").mkdir()
    file = tmp_path / "attacks" / "tracebench-letters.json"
    file.write_text(record())
    shown = "Sort, count and compare letters. Version 1.2 withstood 5 forgeries, on 1 of the 2 tasks that were tried. |"
    assert shown in render.page(tmp_path)

    for wrong, words in (
        (record(withstood=500), "sums"),
        (record(distributions={"other": "1"}), "no record"),
        ("{", "no record"),
    ):
        file.write_text(wrong)
        with pytest.raises(ValueError, match=words):
            render.page(tmp_path)


@HEAVY
def test_what_attack_writes_is_such_a_record(render: ModuleType, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tracebench_engine.cli", "attack", "example_plugin", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=150, cwd=tmp_path)
    (tmp_path / "tracebench-example.json").write_text(done.stdout)
    shown = render.withstood("tracebench-example", tmp_path)
    assert re.fullmatch(r" Version \S+ withstood [1-9]\d+ forgeries, on 1 of the 1 tasks that were tried.", shown)
