"""The viewer's part of the law of values (`tests/engine/any_value.py`): what its pages show of a run, and the published site."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.engine.any_value import RIGHT, VALUES, WORST, Answer

from tracebench_engine.api import load_run
from tracebench_viewer.publishing.command import publish
from tracebench_viewer.reading import Reader


def read_by_viewer(run_dir: Path, pages: Path) -> Iterator[Answer]:
    """Have the viewer's pages of each job, and the published site, go through a run of the law."""
    for job_id, result in load_run(run_dir).results.items():
        yield _answer("viewer", lambda: _see(run_dir, job_id, tries=result.trainer_id == "Tries"))  # noqa: B023 - called at once
    yield _answer("published site", lambda: _publish(run_dir, pages))


def _answer(reader: str, read: Callable[[], None]) -> Answer:
    try:
        read()
    except ImportError as err:
        return Answer(reader, 1, f"{err.name} is not installed", is_missing=True)
    except Exception:  # noqa: BLE001 - it is told, as that of a command would be
        return Answer(reader, 1, traceback.format_exc(), is_missing=False)
    return Answer(reader, 0, "", is_missing=False)


def _see(run_dir: Path, job_id: str, *, tries: bool) -> None:
    job = Reader(run_dir.parent).job(run_dir.name, job_id)
    shown = {row["candidate"]: row["score"] for row in job.table()}
    job.curve("evaluations")
    if tries:
        for number, name in enumerate(VALUES, start=1):
            assert (shown[f"c{number}"] not in {None, WORST}) == (name in RIGHT), name


def _publish(run_dir: Path, pages: Path) -> None:
    for name in ("altair", "vl_convert"):  # one draws the charts, the other holds their script
        importlib.import_module(name)

    publish([str(run_dir)], out=pages)
    of_jobs = [*(pages / f"runs/{run_dir.name}/jobs").glob("*.html")]
    assert len(of_jobs) == len(load_run(run_dir).results), of_jobs
