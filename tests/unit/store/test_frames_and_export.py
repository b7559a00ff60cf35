import csv
import json
import math

import pytest
from tests.unit.store.conftest import JOBS
from tests.unit.store.samples import call, candidate, evaluation, started

from tracebench_core.errors import MissingRequirementError, UsageError
from tracebench_runs import export
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.export import FORMATS, export_run
from tracebench_runs.journal.journal import Journal
from tracebench_runs.reading.reader import load_run
from tracebench_runs.reading.tabular import SPECS, TABLES

NAMES = ["jobs", "steps", "evaluations", "candidates", "calls"]


def columns(run, name):
    return load_run(run.path).frame(name, "columns")


def test_the_tables_say_what_the_files_say(run) -> None:
    jobs, steps = columns(run, "jobs"), columns(run, "steps")
    assert jobs["job_id"] == [job.job_id for job in JOBS]
    assert jobs["status"] == ["ok", "ok", "ok", "not_run"]
    assert jobs["score_val_best"] == [2.0, 2.0, 2.0, None]
    assert (jobs["llm_calls"][0], jobs["usd"][0], jobs["used_evaluations"][0], jobs["steps"][0]) == (1, 0.5, 2, 1)
    assert steps["used_tokens"] == [15, 15, 15]
    assert columns(run, "evaluations")["score"] == [1.0, 2.0] * 3
    assert columns(run, "calls")["prompt_tokens"] == [10] * 3


def test_candidates_come_with_their_values_in_full_and_their_score(run) -> None:
    seen = columns(run, "candidates")
    assert seen["candidate"][:2] == ["c0", "c1"]
    assert json.loads(seen["values"][1]) == {"x": 2.5, "text": "long " * 1000}
    assert json.loads(seen["parents"][1]) == ["c0"]
    assert seen["score"][:2] == [1.0, 2.0]


def test_calls_of_lost_attempts_are_told_apart(run) -> None:
    with Journal(run) as journal:
        journal.job_started(JOBS[0].job_id)
    folder = run.job(JOBS[0].job_id).fresh()
    writer = EventWriter(folder)
    for event in (started(JOBS[0]), call(usd=0.25), call(usd=0.25)):
        writer.write(event)
    writer.close(durable=False)
    calls = columns(run, "calls")
    of_first = [cells for cells in zip(*calls.values(), strict=True) if cells[1] == JOBS[0].job_id]
    told = [dict(zip(calls, cells, strict=True)) for cells in of_first]
    assert [(c["attempt"], c["counts"], c["usd"]) for c in told] == [(1, False, 0.5), (2, True, 0.25), (2, True, 0.25)]


def test_lines_that_cannot_be_read_cost_only_themselves(run) -> None:
    with Journal(run) as journal:
        journal.job_started(JOBS[0].job_id)  # what a run under way has written is not sealed
    log = run.job(JOBS[0].job_id).events
    log.write_bytes(b'garbage\n{"kind":"evaluation"}\n[]\n' + log.read_bytes() + b'{"kind":"evaluation","sco')
    assert columns(run, "evaluations")["score"] == [1.0, 2.0] * 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", NAMES)
def test_frames_of_both_libraries_hold_the_same_as_the_columns(run, library, name) -> None:
    pytest.importorskip(library)
    frame = load_run(run.path).frame(name, library)
    assert list(frame.columns) == [column.name for column in SPECS[name].columns]
    for column, cells in columns(run, name).items():
        read = [None if _is_missing(cell) else cell for cell in frame[column].to_list()]
        assert read == cells, column


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_empty_frame_has_its_columns_and_types(tmp_path, run, library) -> None:
    pytest.importorskip(library)
    with Journal(run) as journal:
        for job in JOBS:
            journal.job_started(job.job_id)
            run.job(job.job_id).events.unlink(missing_ok=True)
    frame = load_run(run.path).evaluations(library)
    assert len(frame) == 0
    assert str(frame["score"].dtype).lower() == "float64"


def _is_missing(cell) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ == "NAType"


def test_a_library_that_is_not_there_is_told_with_its_extra(run, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(MissingRequirementError) as caught:
        load_run(run.path).jobs("polars")
    assert "tracebench-engine[polars]" in caught.value.hint
    with pytest.raises(UsageError, match="no data frames"):
        load_run(run.path).jobs("excel")


def hostile(run) -> None:
    """Add what other formats trip over: numbers that JSON lacks, lone surrogates, separators, and quotes."""
    writer = EventWriter(run.job(JOBS[3].job_id).fresh())
    for event in (
        started(JOBS[3]),
        candidate("c0", values={"text": "\ud800 \x00 'quoted', \"twice\";\r\n=1+1"}),
        evaluation(score=math.nan, feedback='a,"b"\n\ud83d lone'),
        evaluation(score=math.inf, metrics={"m": -math.inf}),
    ):
        writer.write(event)
    writer.close(durable=False)


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
def test_text_formats_hold_every_row(run, tmp_path, format_) -> None:
    hostile(run)
    folder = tmp_path / "out"
    written = export_run(load_run(run.path), folder, format_=format_)
    assert sorted(path.stem for path in written) == sorted(TABLES)
    for name in NAMES:
        path = folder / f"{name}.{format_}"
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file)) if format_ == "csv" else [json.loads(line) for line in file]
        expected = columns(run, name)
        assert len(rows) == len(expected["run_id"])
        if rows:
            assert list(rows[0]) == list(expected)


@pytest.mark.parametrize("format_", ["parquet", "duckdb"])
def test_duckdb_reads_back_every_row(run, tmp_path, format_) -> None:
    duckdb = pytest.importorskip("duckdb")
    hostile(run)
    target = tmp_path / "it's out"
    export_run(load_run(run.path), target, format_=format_)
    with duckdb.connect(str(target) if format_ == "duckdb" else ":memory:") as database:
        for name in NAMES:
            path = str(target / f"{name}.parquet").replace("'", "''")
            source = name if format_ == "duckdb" else f"'{path}'"
            rows = database.execute(f"SELECT * FROM {source}").fetchall()
            expected = columns(run, name)
            assert len(rows) == len(expected["run_id"])
            assert [row[1] for row in rows] == expected[list(expected)[1]]
        scores = [
            r[0] for r in database.execute(f"SELECT score FROM {_table('evaluations', target, format_)}").fetchall()
        ]
    assert scores[:2] == [1.0, 2.0]
    assert math.isnan(scores[-2])
    assert scores[-1] == math.inf


def _table(name, target, format_) -> str:
    return name if format_ == "duckdb" else "'" + str(target / f"{name}.parquet").replace("'", "''") + "'"


def test_ioh_holds_the_course_of_every_job_that_had_one(run, tmp_path) -> None:
    export_run(load_run(run.path), tmp_path / "ioh", format_="ioh")
    (meta,) = (tmp_path / "ioh").glob("*/IOHprofiler_*.json")
    content = json.loads(meta.read_text())
    (scenario,) = content["scenarios"]
    assert content["maximization"] is True
    assert [(r["seed"], r["evals"], r["best"]["y"]) for r in scenario["runs"]] == [
        (0, 2, 2.0),
        (1, 2, 2.0),
        (2, 2, 2.0),
    ]
    assert (meta.parent / scenario["path"]).read_text() == "evaluations raw_y\n1 1.0\n2 2.0\n" * 3


def test_ioh_is_read_by_the_readers_of_iohprofiler(run, tmp_path) -> None:
    pytest.importorskip("iohinspector")
    from iohinspector import DataManager

    export_run(load_run(run.path), tmp_path / "ioh", format_="ioh")
    manager = DataManager()
    manager.add_folder(str(tmp_path / "ioh"))
    data = manager.load(monotonic=False)
    assert sorted(data["raw_y"].to_list()) == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_that_exists_is_overwritten_and_nothing_half_is_left(run, tmp_path, format_, monkeypatch) -> None:
    target = tmp_path / "there"
    target.mkdir()
    with pytest.raises(UsageError, match="exists already"):
        export_run(load_run(run.path), target, format_=format_)
    target.rmdir()
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    if format_ in {"parquet", "duckdb"}:
        with pytest.raises(MissingRequirementError):
            export_run(load_run(run.path), target, format_=format_)
        assert list(tmp_path.iterdir()) == [run.path]


@pytest.mark.parametrize("kind", ["csv", "ioh"])
@pytest.mark.parametrize("there", ["file", "folder", "dead link"])
def test_an_export_takes_no_place_that_is_taken_meanwhile(run, tmp_path, monkeypatch, kind, there) -> None:
    """Another export may end first, or somebody makes a file of that name."""
    target = tmp_path / "out"
    write = export._WRITERS[kind]

    def writing(found, partial):
        write(found, partial)
        if there == "folder":
            target.mkdir()
            (target / "mine").write_text("x")
        elif there == "file":
            target.write_text("mine")
        else:
            target.symlink_to(tmp_path / "nowhere")

    monkeypatch.setattr(export, "_WRITERS", {kind: writing})
    with pytest.raises(UsageError, match="exists already"):
        export_run(load_run(run.path), target, format_=kind)
    assert [path.name for path in tmp_path.glob("*out*")] + [path.name for path in tmp_path.glob(".out*")] == ["out"]
    assert target.is_symlink() if there == "dead link" else target.exists()


def test_a_file_is_exported_over_nothing_that_came_meanwhile(run, tmp_path, monkeypatch) -> None:
    target = tmp_path / "out.duckdb"

    def writing(_, partial):
        partial.write_text("ours")
        target.write_text("mine")

    monkeypatch.setattr(export, "_WRITERS", {"duckdb": writing})
    with pytest.raises(UsageError, match="exists already"):
        export_run(load_run(run.path), target, format_="duckdb")
    assert target.read_text() == "mine"
    target.unlink()
    monkeypatch.setattr(export, "_WRITERS", {"duckdb": lambda _, partial: partial.write_text("ours")})
    assert export_run(load_run(run.path), target, format_="duckdb") == [target]
    assert target.read_text() == "ours"
    with pytest.raises(UsageError, match="exists already"):
        export_run(load_run(run.path), target, format_="duckdb")
