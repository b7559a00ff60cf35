"""A job as its page shows it says what its result and its frames say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tracebench_core.errors import RunDirError
from tracebench_core.specs.events import LLMCall
from tracebench_engine.api import load_run
from tracebench_viewer.calltexts import message_text, read_texts
from tracebench_viewer.jobview import JobView, worst_examples
from tracebench_viewer.lineage import lineage
from tracebench_viewer.reading import Reader


@pytest.fixture
def job(runs_dir: Path) -> JobView:
    run = load_run(runs_dir / "first")
    job_id = next(job.job_id for job in run.planned if job.task_id == "internal:numeric_param")
    return Reader(runs_dir).job("first", job_id)


def test_it_agrees_with_the_result(job: JobView) -> None:
    assert job.result is not None
    assert sum(done.by == "trainer" and not done.reused for done in job.evaluations) == job.result.used.evaluations
    assert sum(call.status == "ok" for call in job.calls) == job.result.used.llm_calls
    curve = job.curve("evaluations")
    assert curve[-1] == {"x": job.result.used.evaluations, "score": job.bests[-1].score}
    assert [row["score"] for row in curve] == sorted(row["score"] for row in curve)
    last = job.points("tokens")[-1]
    assert last["x"] == job.result.used.tokens


def test_candidates_are_as_the_frame_has_them(job: JobView, runs_dir: Path) -> None:
    frame = load_run(runs_dir / "first").candidates("columns")
    mine = [i for i, job_id in enumerate(frame["job_id"]) if job_id == job.spec.job_id]
    assert [row["candidate"] for row in job.table()] == [frame["candidate"][i] for i in mine]
    assert [row["score"] for row in job.table()] == [frame["score"][i] for i in mine]
    assert job.candidates[job.bests[-1].candidate].verdict == "best"


def test_lineage_has_every_candidate_and_joins_it_to_its_parents(job: JobView) -> None:
    nodes, edges = lineage(job.candidates)
    assert {node["candidate"] for node in nodes} == {*job.candidates}
    assert len({(node["x"], node["y"]) for node in nodes}) == len(nodes)
    parents = sum(len(seen.event.parents) for seen in job.candidates.values())
    assert len(edges) == parents
    places = {(node["x"], node["y"]) for node in nodes}
    assert {(edge["x"], edge["y"]) for edge in edges} | {(edge["x2"], edge["y2"]) for edge in edges} <= places
    for seen in job.candidates.values():
        if seen.event.parents and seen.delta is not None:
            assert math.isclose(
                seen.delta, (seen.score or 0) - max(job.candidates[p].score or 0 for p in seen.event.parents)
            )


def test_what_failed_or_was_not_evaluated_is_no_zero() -> None:
    rows = [
        {"example": "easy", "score": 1.0}, {"example": "broken", "score": None}, {"example": "zero", "score": 0.0},
        {"example": "below", "score": -5.0},
    ]  # fmt: skip
    assert worst_examples(rows) == ["broken", "below", "zero", "easy"]


def test_words_of_calls_are_those_that_were_recorded(job: JobView, runs_dir: Path) -> None:
    layout = load_run(runs_dir / "first").layout
    replies = [read_texts(layout, job.spec.job_id, job.calls, call)[-1] for call in job.calls]
    assert [who for who, _ in replies] == ["reply"] * len(job.calls)
    asked = read_texts(layout, job.spec.job_id, job.calls, job.calls[0])[0]
    assert "numeric" in asked[1] or asked[1]
    (layout.llm / "calls.jsonl").unlink()
    assert read_texts(layout, job.spec.job_id, job.calls, job.calls[0]) == []


def test_a_lost_recording_is_told(job: JobView, runs_dir: Path) -> None:
    layout = load_run(runs_dir / "first").layout
    for blob in layout.llm_blobs.glob("*/*"):
        blob.write_bytes(b"x")
    with pytest.raises(RunDirError, match="damaged"):
        read_texts(layout, job.spec.job_id, job.calls, job.calls[0])


def test_messages_of_any_shape_are_text() -> None:
    assert message_text({"role": "user", "content": "<b>hi</b>"}) == "<b>hi</b>"
    assert "image" in message_text({"content": [{"type": "image"}], "tool_calls": [{"name": "f"}]})
    assert message_text({"content": None}) == ""


def test_a_log_that_was_edited_is_refused(runs_dir: Path, job: JobView) -> None:
    events = job.layout.events
    events.write_bytes(events.read_bytes().replace(b'"score":', b'"score": ', 1))
    with pytest.raises(RunDirError, match="vouches"):
        Reader(runs_dir).job("first", job.spec.job_id)


def test_a_reader_reads_again_only_what_changed(runs_dir: Path, job: JobView) -> None:
    reader = Reader(runs_dir)
    first = reader.job("first", job.spec.job_id)
    assert reader.job("first", job.spec.job_id) is first
    (job.layout.path / "results.json").touch()
    assert reader.job("first", job.spec.job_id) is not first


def test_calls_are_sorted_into_rows(job: JobView) -> None:
    assert all(isinstance(call, LLMCall) for call in job.calls)
    assert [row["call"] for row in job.call_rows()] == [call.call for call in job.calls]
    assert {row["role"] for row in job.usage_rows()} == {call.role for call in job.calls}
