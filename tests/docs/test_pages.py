"""The pages tell the truth: their commands run, their references are whole, and the shipped configs load."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel
from tests.warm import trace_bench
from tests.whole import HEAVY, one_in

from tracebench_core.specs import ModelConfig, RunConfig
from tracebench_core.specs.run import TrainerEntry
from tracebench_engine.api import plan
from tracebench_engine.cli.app import app
from tracebench_engine.cli.results import compare, show, standings
from tracebench_engine.config import config_schema, load_config, parse_config
from tracebench_engine.config.document import parse
from tracebench_engine.config.schema import MODELS, verdict_schema

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
PAGES = sorted(
    page for page in (ROOT / "docs").glob("*/*.md") if page.parent.name in {"tutorial", "how-to", "reference"}
)
EVERY_PAGE = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
YAML = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (\w+=\S* )*(trace-bench |python \w+\.py$)")
QUOTE = re.compile(r"^<!-- quote: (\S+) -->\n```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^(<!-- (?:quote: \S+|a part) -->\n)?```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""What is quoted has tests of its own, and what is marked as a part is not meant to run alone."""
PLAIN = re.compile(r"trace-bench (?:[^'$|<>&;*]|'[^']*')+$")
"""A command that a shell only splits: it is run by `tests/warm.py`, any other by bash."""
EXITS = re.compile(r"\s+# exits (\d+)$")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def told_anew(pages: Iterable[Path]) -> list[Path]:
    """Return the pages that have a command which none before them has."""
    told: set[str] = set()
    found = []
    for page in pages:
        if own := {*commands(page)} - told:
            told |= own
            found.append(page)
    return found


def commands(page: Path) -> list[str]:
    return [
        line[2:] for block in CONSOLE.findall(page.read_text()) for line in block.splitlines() if COMMAND.match(line)
    ]


def test_the_site_leads_to_every_page() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    assert {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")} == listed


@pytest.mark.parametrize(
    ("page", "columns"),
    [
        ("tutorial/first-run.md", (*standings.COLUMNS, *show.COLUMNS)),
        ("tutorial/first-comparison.md", (*compare.PAIRS, *compare.TASKS)),
    ],
)
def test_the_columns_of_a_table_are_explained_where_they_first_appear(page: str, columns: tuple[str, ...]) -> None:
    pages = ["tutorial/first-run.md", page]  # the second tutorial says that the first table is that of the first
    told = "\n".join(
        row for each in pages for row in (ROOT / "docs" / each).read_text().splitlines() if row.startswith("|")
    )
    last = (ROOT / "docs" / page).read_text()
    assert [name for name in dict.fromkeys(columns) if f"`{name}`" not in told and f"`{name}`" not in last] == []


@HEAVY
@pytest.mark.parametrize("page", told_anew(PAGES), ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    for receipts in (folder for folder in (ROOT / "docs" / "reference").iterdir() if folder.is_dir()):
        shutil.copytree(receipts, tmp_path / receipts.name)
        shutil.copy(receipts.with_suffix(".md"), tmp_path)
    for block in YAML.findall(page.read_text())[-1:]:
        (tmp_path / "mine.yaml").write_text(block)
    for source, text in QUOTE.findall(page.read_text()):
        if source.startswith("examples/"):
            (tmp_path / Path(source).name).write_text(text)
    environ = {k: v for k, v in os.environ.items() if not k.startswith("TRACEBENCH_")}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    for command in commands(page):
        expected = int(found[1]) if (found := EXITS.search(command)) else 0
        if PLAIN.match(command):
            done = trace_bench(*shlex.split(command, comments=True)[1:], folder=tmp_path, environ=environ, timeout=300)
        else:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=tmp_path,
                env=environ,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
        assert done.returncode == expected, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name)
def test_the_configs_of_a_page_load(page: Path) -> None:
    for block in YAML.findall(page.read_text()):
        parse_config(parse(block, origin=page.name).data, origin=page.name)


@pytest.mark.parametrize("page", EVERY_PAGE, ids=name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        led_to = (page.parent / path) if path else page
        assert led_to.exists(), target
        assert not heading or heading in headings(led_to), target


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / target).resolve() for target in re.findall(r"\]\(([^)#]+)\)", index.read_text())}

    assert [name(page) for page in (ROOT / "docs").glob("*/*.md") if page not in named] == []


@pytest.mark.parametrize("page", one_in(4, [page for page in EVERY_PAGE if PYTHON.search(page.read_text())]), ids=name)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    for marked, block in PYTHON.findall(page.read_text()):
        if not marked:
            done = subprocess.run(
                [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, f"{block}\n{done.stderr}"


@pytest.mark.parametrize("page", [page for page in EVERY_PAGE if QUOTE.search(page.read_text())], ids=name)
def test_what_a_page_quotes_is_what_the_file_says(page: Path) -> None:
    for source, block in QUOTE.findall(page.read_text()):
        assert block == (ROOT / source).read_text().rstrip() + "\n", source


@pytest.mark.parametrize("model", [RunConfig, ModelConfig, *MODELS], ids=lambda model: model.__name__)
def test_the_config_reference_names_every_field(model: type[BaseModel]) -> None:
    text = (ROOT / "docs/reference/config.md").read_text()
    heading = "Run" if model is RunConfig else model.__name__
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]

    linked = (
        set(ModelConfig.model_fields)
        if model is not ModelConfig and "[ModelConfig](#modelconfig)" in section
        else set()
    )
    assert [name for name in model.model_fields if f"| `{name}` |" not in section and name not in linked] == []


@pytest.mark.parametrize("model", [RunConfig, ModelConfig, *MODELS], ids=lambda model: model.__name__)
def test_the_config_reference_tells_the_defaults_that_hold(model: type[BaseModel]) -> None:
    text = (ROOT / "docs/reference/config.md").read_text()
    heading = "Run" if model is RunConfig else model.__name__
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| `([^`|]*)` \|", section, re.MULTILINE))

    assert {field: default for field, default in told.items() if default != written(model, field)} == {}


def written(model: type[BaseModel], field: str) -> str:
    """Return a field's default as a config would write it."""
    default = model.model_fields[field].get_default(call_default_factory=True)
    if isinstance(default, tuple):
        entries = (entry.id if isinstance(entry, TrainerEntry) else str(entry) for entry in default)
        return f"[{', '.join(entries)}]"
    return str(default).lower() if isinstance(default, bool) else str(default) if default != "" else '""'


def test_the_command_reference_names_every_command_and_option() -> None:
    text = (ROOT / "docs/reference/cli.md").read_text()
    group = typer.main.get_command(app)

    for name, command in group.commands.items():  # type: ignore[attr-defined]  # typer's group
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        options = {
            option for parameter in command.build().params for option in parameter.opts if option.startswith("--")
        }
        missing = [option for option in options if f"`{option}" not in text and option not in section]
        assert not missing, f"{name}: {missing}"


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_a_shipped_config_loads_and_names_its_schema(config: Path) -> None:
    first = config.read_text().splitlines()[0]
    schema = first.removeprefix("# yaml-language-server: $schema=")

    assert schema != first
    assert (config.parent / schema).is_file()
    assert plan(load_config(config)).jobs


def test_the_shipped_schema_is_current() -> None:
    shipped = json.loads((ROOT / "configs/schema/run-config.schema.json").read_text())

    assert shipped == config_schema(), "trace-bench config schema > configs/schema/run-config.schema.json"


def test_the_schema_of_verdicts_is_current() -> None:
    assert json.loads((ROOT / "configs/schema/verdict.schema.json").read_text()) == verdict_schema(), "just formats"
