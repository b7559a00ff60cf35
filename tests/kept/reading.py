"""What commands say of a run that is kept whole, of its half that was cut by a kill, of shipped configs, and what they write of them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

from tests.kept.store import HEAD
from tests.kept.text import text_of
from tracebench_engine.cli.app import app

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests/cli/golden/1fa27cb.zip"
JOBS = ("f8d670ab1fcc", "115a732e1757")
COMMANDS = (
    "runs --runs-dir . --json", "runs --runs-dir . --limit 1", "runs --runs-dir . --columns run,jobs,usd",
    *(f"show {run}{how}" for run in ("whole", "cut") for how in ("", " --json", " --all")), "show whole --columns job,seed,test",
    *(f"show whole/jobs/{job}{how}" for job in JOBS for how in ("", " --json", " --all")), "show whole --views views",
    "compare whole", "compare whole --json", "compare whole cut", "compare whole --csv", "compare whole --inspect",
    "compare whole --axis llm_calls --failures worst", "compare whole --axis seconds --failures exclude", "compare whole --at 14",
    "compare whole --baseline NoOp --margin 0.2", "compare whole --metric score --most-seeds 40", "compare whole --gate RandomSearch",
    *(f"report whole -o report{suffix}" for suffix in (".md", ".csv", ".xml", ".json")),
    "report whole -o base.md --baseline NoOp --axis tokens --failures worst",
    "recap whole", "recap whole --json", "recap whole --max-evaluations 10 --max-calls 2", "recap whole --max-tokens 500",
    "fsck whole", "fsck whole --json", "fsck cut", "fsck cut --json", "verify whole", "verify whole --json",
    *(f"export whole --format {form} --to {form}" for form in ("csv", "jsonl", "ioh")),
    *(f"plan {ROOT}/configs/{name}.yaml" for name in ("internal", "smoke", "first", "demo", "fields", "opto", "packing")),
    f"plan {ROOT}/configs/internal.yaml --json", f"config show {ROOT}/configs/smoke.yaml",
    f"config show {ROOT}/configs/internal.yaml --json",
    *(f"init {kind} my-{kind}" for kind in ("suite", "trainer", "logger", "executor", "view")), "init config mine.yaml",
    "list-trainers RandomSearch", "list-trainers GEPA-Base --json", "list-tasks internal:multi_param",
    "list-tasks internal:code_param --json",
    "list-optimizers Reflective", "list-tasks --bench internal", "plugins checks", "plugins checks --json",
    "show nothing", "show f8", "compare whole --axis nothing", "export whole --format nothing", "recap cut",
)  # fmt: skip
FEW = 20_000
"""Characters of what is told line by line; of more, and of files, a digest is."""
ENVIRON = {"COLUMNS": "140", "NO_COLOR": "1", "TZ": "UTC"}


def reading() -> dict[str, list[str]]:
    """Return what each command says, and a digest of each file that it writes."""
    found = dict[str, list[str]]()
    with tempfile.TemporaryDirectory() as folder, _in_an_empty_home(), chdir(folder):
        with zipfile.ZipFile(GOLDEN) as archive:
            archive.extractall()
        before = set(_files(Path()))
        for command in COMMANDS:
            ran = CliRunner().invoke(app, command.split())
            new = sorted(set(_files(Path())) - before)
            before |= {*new}
            said = _lasting(ran.output, folder)
            lines = _of_json(json.loads(said)) if "--json" in command and not ran.exception else _lines(said)
            ended = f"ended with {ran.exit_code}: {ran.exception!r} {getattr(ran.exception, 'hint', '')}"
            wrote = [f"wrote {path}: {_digest(_lasting(path.read_text(encoding='utf-8'), folder))}" for path in new]
            found[command.replace(f"{ROOT}/", "")] = [*lines, *wrote, _lasting(ended, folder).rstrip()]
    return found


@contextmanager
def _in_an_empty_home() -> Iterator[None]:
    """Have no memory of what was done here before, as that a task was calibrated."""
    with tempfile.TemporaryDirectory() as home:
        homes = {f"XDG_{kind}_HOME": home for kind in ("STATE", "CACHE")}
        with patch.dict(os.environ, ENVIRON | homes):
            yield


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _lasting(text: str, folder: str) -> str:
    """Return a text without what differs from place to place and from release to release."""
    for gone in (os.path.realpath(folder), folder, str(ROOT)):
        text = text.replace(gone, "PLACE")
    return text.replace(version("tracebench-core"), "VERSION")


def _lines(said: str) -> list[str]:
    return (
        [f"  {line}" if line.startswith(HEAD) else line for line in said.splitlines()]
        if len(said) < FEW
        else [_digest(said)]
    )


def _of_json(value: Any) -> list[str]:
    """Return a line for each value of a document that is neither long nor deep, else its digest."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [f"{name}: {told if len(told := text_of(inner)) < 80 else _digest(told)}" for name, inner in entries]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
