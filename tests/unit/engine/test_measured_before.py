"""What earlier attempts have measured is taken over only where all that it hangs on is the same, and nobody has touched it since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.samples import candidate, evaluation, job_spec

from tracebench_core.specs import Candidate, Example, JobOrder, TaskSpec
from tracebench_engine.measure.measurement_cache import MeasurementCache, open_measurement_cache, relatives
from tracebench_runs.events.measured import DIGITS, Measured, digest_of
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage.layout import RunLayout

JOB, RELATIVE = job_spec(), job_spec(job_id="ffffffffffff")


def of(x: Any, name: str = "c9") -> Candidate:
    return Candidate.model_construct(id=name, values={"x": x}, parents=(), origin="")


EXAMPLE = Example(id="e0", input="in", reference="out")


def wrote(folder: Path, key: str, *, job: Any = JOB, **changes: Any) -> Path:
    """Have an attempt at a job measure what a key stands for, and return its log."""
    writer = EventWriter(RunLayout(folder).create().job(job.job_id).fresh())
    done = evaluation("c0", score=0.75, feedback="so", metrics={"m": 1.0}, seconds=3.0)
    for event in (
        candidate(),
        done.model_copy(update={"digest": digest_of(key, done)}),
        evaluation("c0", example="e1"),
    ):
        writer.write(
            event.model_copy(update=changes) if event is not None and "score" in type(event).model_fields else event
        )
    writer.close(durable=False)
    return writer.layout.events


def test_a_measurement_of_before_is_taken_over_with_where_it_is_from(tmp_path: Path) -> None:
    cache = MeasurementCache(["t"], Measured([RunLayout(tmp_path).job(JOB.job_id)]))
    key = cache.key(of(1.0), EXAMPLE, 7)
    wrote(tmp_path, key)
    found = cache.find(key)
    assert found is not None
    assert (found.example, found.split, found.seconds, found.reused) == ("e0", "train", 0.0, True)
    assert found.reused_from == f"jobs/{JOB.job_id}"
    feedback = found.feedback
    assert (feedback.score, feedback.text, feedback.metrics, feedback.status) == (0.75, "so", {"m": 1.0}, "ok")
    assert cache.find("0" * DIGITS) is None
    assert cache.find("") is None


def test_all_that_an_evaluation_hangs_on_is_in_its_key() -> None:
    def key(identity: Any = "t", x: Any = 1.0, example: Example = EXAMPLE, seed: int = 7, name: str = "c9") -> str:
        return MeasurementCache(identity, Measured([])).key(of(x, name), example, seed)

    others = [
        key("u"), key(x=2.0), key(example=EXAMPLE.model_copy(update={"id": "e1"})), key(example=EXAMPLE.model_copy(update={"input": "on"})),
        key(example=EXAMPLE.model_copy(update={"reference": "in"})), key(seed=8),
    ]  # fmt: skip
    assert len({key(), *others}) == 1 + len(others)
    assert key() == key(name="c1")
    assert {len(each) for each in (key(), *others)} == {DIGITS}


def test_values_without_a_text_have_no_key_and_an_example_without_one_goes_by_its_id() -> None:
    cache = MeasurementCache("t", Measured([]))
    assert cache.key(of(object()), EXAMPLE, 7) == ""
    things = [Example.model_construct(id=name, input=object(), reference=None) for name in ("a", "a", "b")]
    one, same, other = (MeasurementCache("t", Measured([])).key(of(1.0), each, 7) for each in things)
    assert one == same != other
    assert one


@pytest.mark.parametrize(
    "changes", [{"score": 0.8}, {"feedback": "no"}, {"metrics": {"m": 2.0}},
     {"status": "invalid"}, {"example": "e7"}, {"split": "validation"}]
)  # fmt: skip
def test_an_outcome_that_is_not_what_its_digest_says_is_measured_anew(tmp_path: Path, changes: Any) -> None:
    wrote(tmp_path, "a" * DIGITS, **changes)
    assert Measured([RunLayout(tmp_path).job(JOB.job_id)]).find("a" * DIGITS) is None


def test_a_line_that_is_no_event_any_more_is_measured_anew(tmp_path: Path) -> None:
    log = wrote(tmp_path, "a" * DIGITS)
    log.write_bytes(log.read_bytes().replace(b'"score":0.75', b'"score":nope'))
    assert Measured([RunLayout(tmp_path).job(JOB.job_id)]).find("a" * DIGITS) is None


def test_of_several_attempts_the_first_counts_and_one_without_a_log_is_passed_over(tmp_path: Path) -> None:
    attempts = [RunLayout(tmp_path / name).job(JOB.job_id) for name in ("none", "one", "two")]
    key = "b" * DIGITS
    assert Measured(attempts).find(key) is None
    for name in ("two", "one"):
        wrote(tmp_path / name, key)
    later = Measured(attempts)
    found = later.find(key)
    assert found is not None
    wrote(tmp_path / "one", "c" * DIGITS)
    assert Measured(attempts).find(key) is not None  # of the second
    assert Measured(attempts[:2]).find(key) is None
    assert Measured([]).find(key) is None


def test_a_log_is_read_at_the_first_question_and_its_lines_are_found_by_their_place(tmp_path: Path) -> None:
    log = wrote(tmp_path, "d" * DIGITS)
    measured = Measured([RunLayout(tmp_path).job(JOB.job_id)])
    assert measured.find("e" * DIGITS) is None
    data = log.read_bytes()
    log.write_bytes(b"x" * 9 + data)  # every line has moved
    assert measured.find("d" * DIGITS) is None
    log.write_bytes(data)
    assert measured.find("d" * DIGITS) is not None


def test_what_cannot_be_told_has_no_digest() -> None:
    event = evaluation(feedback="so")
    assert digest_of("", event) == ""
    assert digest_of("k", event) != digest_of("l", event)
    assert digest_of("k", event).startswith("k")
    assert len(digest_of("k", event)) == 1 + DIGITS
    assert digest_of("k", evaluation(feedback="\ud800")) == ""


def test_a_job_looks_at_its_own_attempts_and_at_those_of_its_relatives(tmp_path: Path) -> None:
    def opened(*named: str, **changes: Any) -> MeasurementCache:
        job = JOB.model_copy(update=changes)
        return open_measurement_cache(JobOrder(job=job, run_dir=str(tmp_path), relatives=named))

    key = opened().key(of(1.0), EXAMPLE, 7)
    wrote(tmp_path, key, job=RELATIVE)
    assert opened().find(key) is None
    assert opened(RELATIVE.job_id).find(key) is not None
    changed: list[dict[str, Any]] = [
        {"task_id": "s:u"}, {"salt": "x"}, {"eval_kwargs": {"a": 1}}, {"guide": "G"}, {"guide_kwargs": {"a": 1}}, {"plugin_version": "2"},
        {"task_version": JOB.task_version.model_copy(update={"comparability": 9})},
    ]  # fmt: skip
    assert len({key, *(opened(**each).key(of(1.0), EXAMPLE, 7) for each in changed)}) == 1 + len(changed)
    assert opened(trainer_id="Other", seed=2).key(of(1.0), EXAMPLE, 7) == key
    strong = open_measurement_cache(JobOrder(job=JOB, run_dir=str(tmp_path), isolation="strong"))
    assert strong.key(of(1.0), EXAMPLE, 7) != key
    first = opened()
    wrote(tmp_path, key)  # what the job itself has begun is no earlier attempt of its own
    assert first.find(key) is None


def test_relatives_are_finished_jobs_of_the_same_task_and_seed_where_it_is_deterministic() -> None:
    def job(number: int, **fields: Any) -> Any:
        return job_spec(job_id=f"{number:012x}", **fields)

    jobs = [
        job(1, seed=1), job(2, seed=1, trainer_id="Other"), job(3, seed=2), job(4, seed=1, task_id="s:u"),
        job(5, seed=1, eval_kwargs={"a": 1}),
        job(6, seed=1, trainer_id="Third"),
    ]  # fmt: skip
    tasks = {
        name: TaskSpec(name="t", loader="t:t", title="t", deterministic=name == "suite:task") for name in ("suite:task", "s:u")
    }  # fmt: skip
    done = [each.job_id for each in jobs if each.job_id[-1] in "146"]
    found = relatives(jobs, tasks, done)
    assert found == {jobs[1].job_id: (jobs[0].job_id, jobs[5].job_id)}
    assert relatives(jobs, tasks, []) == {}
