"""What is kept of many results tells the same as the results, and takes a small part of their memory."""

import math
import tracemalloc

import pytest
from tests.unit.analysis.runs import make_run

from tracebench_core.specs import (
    BudgetState,
    ErrorInfo,
    Gain,
    JobResult,
    Judge,
    ProposalCounts,
    RaisedCount,
    StepResult,
)
from tracebench_runs.journal.journal import EndRecord
from tracebench_runs.journal.trust import Ends
from tracebench_runs.reading import briefs
from tracebench_runs.reading.briefs import Brief, Briefs, used_of
from tracebench_runs.reading.reader import load_run
from tracebench_runs.results.results import result_bytes
from tracebench_runs.storage.seal import Seal


def result(seed: int, **fields) -> JobResult:
    told = {
        "task_id": "s:x",
        "suite": "s",
        "trainer_id": "A",
        "mode": "stub",
        "status": "ok",
        "stop_reason": "completed",
    }
    return JobResult.model_validate({"job_id": f"job{seed}", "seed": seed, **told, **fields})


def full(seed: int) -> JobResult:
    return result(
        seed,
        score_val_initial=0.0,
        score_val_best=seed / 7,
        score_test=None if seed % 2 else -seed / 3,
        score_val_repeats=(0.1 * seed, 0.2),
        gain=Gain(split="test", content=0.5, form=-0.25),
        used=BudgetState(evaluations=seed, usd=None, seconds=seed / 11),
        proposals=ProposalCounts(),
        evaluations_by_status={"ok": 3, "timeout": seed % 2},
        exceptions=(RaisedCount(type="ValueError", file="a.py", line=3, count=seed % 3),),
        flags={"unequal-budget": "it ended early"},
        judge=Judge(version="1", digest="ab"),
        calibration="here",
        versions={"isolation": "strong"} if seed % 2 else {},
        error=ErrorInfo(type="E", message="m", traceback="t") if seed % 2 else None,
        time_seconds=seed / 13,
        steps=tuple(
            StepResult(index=i, score=i / 3, best=i / 2, seconds=0.1, used=BudgetState(evaluations=i))
            for i in range(40)
        ),
    )


def of_an_older_version(told: JobResult) -> bytes:
    return told.model_dump_json(exclude_defaults=True).encode()


def briefs_of(results: list[JobResult]) -> Briefs:
    return Briefs({each.job_id: place for place, each in enumerate(results)}, iter(results))


@pytest.mark.parametrize("told", [lambda each: each, result_bytes, of_an_older_version])
def test_a_brief_says_what_its_result_says(told) -> None:
    results = [full(seed) for seed in range(12)] + [result(12, status="not_run", stop_reason="")]
    results += [
        result(13, score_val_best=math.inf, score_test=-math.inf, time_seconds=1e300, score_val_initial=-math.inf)
    ]

    found = Briefs({each.job_id: place for place, each in enumerate(results)}, map(told, results))

    assert [*found] == [each.job_id for each in results]
    for each in results:
        brief = found[each.job_id]
        assert brief.isolation == each.versions.get("isolation", "")
        for name in {*Brief._fields} - {"used", "failure", "isolation"}:
            assert getattr(brief, name) == getattr(each, name), name
        assert brief.used == used_of(each.used)
        assert brief.failure == (f"{each.error.type}: {each.error.message}" if each.error else "")
    assert [*map(repr, found.values())] == [*map(repr, briefs_of(results).values())]  # which tells 1 from 1.0


def test_briefs_take_a_small_part_of_the_memory_of_results() -> None:
    def held(make) -> int:
        tracemalloc.start()
        kept = make()
        taken = tracemalloc.get_traced_memory()[0] / len(kept)
        tracemalloc.stop()
        return taken

    briefs_of([full(0), full(1)])  # what is made once is no part of it
    whole = held(lambda: [full(seed) for seed in range(300)])
    brief = held(lambda: Briefs({f"job{seed}": seed for seed in range(300)}, (full(seed) for seed in range(300))))

    assert brief < whole / 10


def test_a_run_reads_a_result_when_it_is_asked_for_one(tmp_path) -> None:
    run = make_run(tmp_path / "r", lambda trainer, task, seed: float(seed), seeds=range(4))
    first, *others = [job.job_id for job in run.planned]
    for job_id in others:
        run.layout.job(job_id).results.unlink()

    assert run.results[first].score_val_best == 0.0
    assert run.briefs[first].score_val_best == 0.0
    assert {each.status for job_id, each in run.results.items() if job_id != first} == {"not_run"}
    assert len(run.results) == len(run.briefs) == len(run.planned)


def test_an_end_record_comes_back_as_it_was_kept() -> None:
    digest = "0123456789abcdef" * 4
    records = [
        EndRecord("a", "ok", digest, Seal(77, digest[::-1])),
        EndRecord("b", "failed"),
        EndRecord("c", "timeout", digest.upper(), Seal(1, digest)),
        EndRecord("d", "ok", "no digest", Seal(1, digest)),
        EndRecord("e", "ok", digest, Seal(1 << 60, digest)),
        EndRecord("f", "ok", digest[:-2] + " ", Seal(-1, digest)),
        EndRecord("g", "not_run", f"{digest[:-2]}  ", Seal(0, digest)),
    ]
    ends = Ends()
    for record in records:
        ends[record.job_id] = record
    ends["other"] = records[0]

    assert [ends[record.job_id] for record in records] == records
    assert ends["other"] == records[0]
    assert ends == {**{record.job_id: record for record in records}, "other": records[0]}
    ends.clear()
    assert not ends


def test_a_long_result_is_read_without_its_steps(tmp_path, monkeypatch) -> None:
    run = make_run(tmp_path / "r", lambda trainer, task, seed: float(seed), seeds=range(2))
    short = [*map(repr, run.briefs.values())]

    monkeypatch.setattr(briefs, "LONG", 0)
    monkeypatch.setattr(briefs, "read_whole", None)  # which nothing is to call

    again = load_run(run.layout.path)
    assert [*map(repr, again.briefs.values())] == short
