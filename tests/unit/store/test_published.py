"""The format of run directories is published, kept, and true of what is written."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from tests.docs.writers import load_writer

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.fsck import check_run
from tracebench_runs.reading.reader import load_run

published = load_writer("run_directory")
GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.zip"))


def test_schemas_and_page_are_current():
    shipped = {path.name: json.loads(path.read_text()) for path in published.SCHEMAS.glob("*.json")}
    assert shipped == {f"{name}.schema.json": schema for name, schema in published.schemas().items()}, "just formats"
    assert published.PAGE.read_text() == published.page(), "just formats"


def test_every_file_of_a_run_is_as_published(tmp_path):
    config = parse_config(
        {
            "mode": "stub",
            "runs_dir": str(tmp_path),
            "tasks": ["internal:multi_param", "internal:code_param"],
            "trainers": [{"id": "SequentialRefine", "params": {"num_steps": 1}}],
            "run_budget": {"evaluations": 500},
            "llm": {"record": True},
        }
    )
    run_dir = api.run(config, stream=io.StringIO()).run_dir
    assert list(published.nonconforming(run_dir)) == []

    (run_dir / "summary.json").write_text('{"run_id": 3}')
    (run_dir / "new.json").write_text("{}")
    assert [line.partition(":")[0] for line in published.nonconforming(run_dir)] == ["new.json", "summary.json"]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_a_run_of_every_released_version_is_read(golden, tmp_path):
    with zipfile.ZipFile(golden) as archive:
        archive.extractall(tmp_path)
    run = load_run(tmp_path / "golden")
    assert [(r.status, r.seed) for r in run.results.values()] == [("ok", 1), ("ok", 2)]
    assert [r.used.llm_calls for r in run.results.values()] == [2, 2]
    assert run.spent()["total"]["llm_calls"] == 4
    frames = {name: getattr(run, name)("columns") for name in ("jobs", "steps", "evaluations", "candidates", "calls")}
    assert {name: len(next(iter(frame.values()))) > 0 for name, frame in frames.items()} == dict.fromkeys(frames, True)
    assert list(published.nonconforming(run.layout.path)) == []
    assert [f for f in check_run(run.layout.path) if f.mended_by not in {"nothing", "repair"}] == []


def test_there_is_a_golden_run():
    assert GOLDEN
