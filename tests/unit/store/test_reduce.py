import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.store.samples import call, candidate, evaluation, failure, job_spec, started, whole_job

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import Budget, BudgetState, Cage, JobResult, Judge, Objective, Raised, Runtime, Usage
from tracebench_core.specs.events import BestChanged, Caged, JobFinished, Scored, StepFinished
from tracebench_core.specs.job import ADDED_TO_RESULTS
from tracebench_runs.events.reduce import Reducer, not_run, overshoot, reduce_job
from tracebench_runs.reading.compare import without_times
from tracebench_runs.results.results import result_bytes, sealed_bytes


def test_a_rounding_error_is_no_overshoot():
    assert overshoot(Budget(usd=0.3), BudgetState(usd=0.1 + 0.2)) == {}
    assert overshoot(Budget(usd=0.3, llm_calls=2), BudgetState(usd=0.301, llm_calls=3)) == {
        "llm_calls": 1,
        "usd": pytest.approx(0.001),
    }


def finished(status="ok", **changes):
    return JobFinished(**({"status": status, "stop_reason": "completed"} | changes))


def test_a_whole_job_reduces_to_its_result():
    result = reduce_job(whole_job())
    assert (result.job_id, result.suite, result.status, result.stop_reason) == (
        "0123456789ab",
        "suite",
        "ok",
        "completed",
    )
    assert (result.score_val_initial, result.score_val_best, result.score_val_final) == (1.0, 2.0, None)
    assert (result.score_test_initial, result.score_test) == (None, 1.5)
    assert (result.best_candidate, result.best_step) == ("c1", 0)
    assert (result.metrics_initial, result.metrics_best) == ({"len": 3.0}, {"len": 4.0})
    assert [(s.index, s.best, s.seconds) for s in result.steps] == [(0, 2.0, 0.25)]
    assert result.usage == {"optimizer": Usage(llm_calls=1, prompt_tokens=10, completion_tokens=5, usd=0.5)}
    assert (result.used.evaluations, result.time_seconds) == (2, 0.75)
    assert (result.error, result.feedback, result.overshoot) == (None, "", {})


def test_train_scores_stand_in_only_where_there_is_no_validation():
    train = Scored(what="best", split="train", candidate="c0", score=5.0, metrics={})
    validation = Scored(what="best", split="validation", candidate="c0", score=3.0, metrics={})
    assert reduce_job([started(), train, finished()]).score_val_best == 5.0
    assert reduce_job([started(), train, validation, finished()]).score_val_best == 3.0


def test_a_log_without_its_end_is_a_failed_job_that_keeps_what_was_found():
    result = reduce_job(whole_job()[:-1])
    assert (result.status, result.stop_reason) == ("failed", "error")
    assert result.error.type == "CutShort"
    assert result.feedback.startswith("CutShort: the job's log ends without")
    assert result.score_test == 1.5
    assert (result.used.evaluations, result.used.llm_calls, result.used.tokens, result.used.usd) == (2, 1, 15, 0.5)


def test_the_last_line_of_an_error_is_the_feedback():
    result = reduce_job([started(), failure(), finished("failed", stop_reason="error")])
    assert (result.feedback, result.error.traceback) == ("ValueError: last", "Traceback")


def test_an_error_that_ended_nothing_is_not_the_jobs_error():
    assert reduce_job([started(), failure(fatal=False), finished()]).error is None
    result = reduce_job([started(), failure(), failure(type="Late", fatal=False), finished("failed")])
    assert result.error.type == "ValueError"


def test_the_plan_says_whose_events_these_are_when_the_job_died_before_its_first():
    with pytest.raises(RunDirError, match="job_started"):
        reduce_job([failure()])
    result = reduce_job([failure(), finished("failed")], job=job_spec(seed=9))
    assert (result.job_id, result.seed, result.status) == ("0123456789ab", 9, "failed")
    assert reduce_job([], job=job_spec()).status == "failed"


def test_going_past_a_cap_is_told_by_axis():
    budget = Budget(evaluations=2, tokens=100, usd=1.0)
    used = BudgetState(evaluations=2, tokens=130, usd=None)
    result = reduce_job([started(budget=budget), finished(used=used)])
    assert result.overshoot == {"tokens": 30}


def test_usage_tells_answered_cached_refused_and_failed_calls_apart():
    events = [
        started(),
        call(),
        call(cached=True),
        call(status="refused", usd=None, prompt_tokens=0, completion_tokens=0),
        call(status="error", usd=None, prompt_tokens=0, completion_tokens=0, retries=3),
        call(role="judge", phase="scoring", cached_tokens=4),
        call(role="agent", usd=None),
    ]
    result = reduce_job(events)
    assert list(result.usage) == ["optimizer", "agent", "judge"]
    assert result.usage["optimizer"] == Usage(
        llm_calls=1, prompt_tokens=10, completion_tokens=5, usd=0.5, cached_calls=1, refused=1, retries=3, errors=1
    )
    assert result.usage["agent"].usd is None
    assert result.usage["judge"].cached_tokens == 4
    assert (result.used.llm_calls, result.used.tokens, result.used.usd) == (3, 30, None)


def test_the_engines_own_evaluations_are_not_charged():
    result = reduce_job([started(), evaluation(), evaluation(by="engine", split="test")])
    assert result.used.evaluations == 1


def test_a_reducer_may_be_asked_at_any_time():
    reducer = Reducer()
    results = []
    for event in whole_job():
        reducer.add(event)
        results.append((reducer.complete, reducer.result().score_val_best))
    assert results[0] == (False, None)
    assert results[-1] == (True, 2.0)


def test_a_planned_job_that_was_not_run_is_neither_failed_nor_zero():
    result = not_run(job_spec())
    assert (result.status, result.score_test, result.error) == ("not_run", None, None)


def point(name, a, b, example="e0", **changes):
    return evaluation(name, example, metrics={"a": a, "b": b}, **changes)


def front_of(*events):
    objectives = (Objective(metric="a", direction="maximize"), Objective(metric="b", direction="minimize"))
    front = reduce_job([started(objectives=objectives), *events, finished()]).front
    return [(p.candidate, p.metrics["a"], p.metrics["b"]) for p in front]


def test_the_front_holds_what_no_other_candidate_dominates():
    events = [point("c0", 1, 1), point("c1", 2, 2), point("c2", 1, 2), point("c3", 3, 0), point("c4", 3, 0)]
    assert front_of(*events) == [("c3", 3.0, 0.0)]
    assert front_of(*events[:3]) == [("c0", 1.0, 1.0), ("c1", 2.0, 2.0)]


def test_the_front_compares_candidates_on_the_same_examples_only():
    both = [point("c0", 1, 1), point("c0", 3, 3, "e1"), point("c1", 9, 0), point("c2", 0, 2), point("c2", 8, 2, "e1")]
    assert front_of(*both) == [("c2", 4.0, 2.0)]
    failed = [point("c0", 1, 1), point("c1", 9, 0, status="error"), evaluation("c2", metrics={"a": math.nan, "b": 0})]
    assert front_of(*failed) == [("c0", 1.0, 1.0)]
    assert front_of(point("c0", 9, 0), point("c1", 1, 1, split="validation")) == [("c1", 1.0, 1.0)]


def test_there_is_no_front_without_objectives():
    assert reduce_job([started(), point("c0", 1, 1), finished()]).front == ()


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_the_front_is_the_front_of_the_definition(points):
    found = front_of(*(point(f"c{i}", a, b) for i, (a, b) in enumerate(points)))
    wanted = {p for p in points if not any(q != p and q[0] >= p[0] and q[1] <= p[1] for q in points)}
    assert {(a, b) for _, a, b in found} == wanted
    assert len(found) == len(wanted)


finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
some_events = st.one_of(
    st.builds(candidate, st.sampled_from(["c0", "c1"])),
    st.builds(
        evaluation,
        st.sampled_from(["c0", "c1"]),
        score=finite,
        metrics=st.dictionaries(st.text(max_size=3), st.floats(), max_size=3),
    ),
    st.builds(call, usd=st.none() | st.floats(0, 10), role=st.sampled_from(["optimizer", "agent", "judge"])),
    st.builds(
        Scored,
        what=st.sampled_from(["initial", "best", "final"]),
        split=st.sampled_from(["train", "validation", "test"]),
        candidate=st.just("c0"),
        score=st.none() | finite,
        metrics=st.dictionaries(st.text(max_size=3), st.floats(), max_size=3),
    ),
    st.builds(BestChanged, candidate=st.just("c1"), score=finite, used=st.just(BudgetState())),
    st.builds(
        StepFinished,
        index=st.integers(0, 3),
        score=st.none() | finite,
        best=st.none() | finite,
        seconds=st.floats(0, 9),
        used=st.just(BudgetState()),
    ),
    st.builds(failure, message=st.text(max_size=30), fatal=st.booleans()),
)


@given(st.lists(some_events, max_size=12), st.booleans())
def test_the_same_events_give_the_same_bytes_and_the_bytes_read_back(events, ended):
    log = [started(), *events, *([finished()] if ended else [])]
    data = result_bytes(reduce_job(log))
    assert data == result_bytes(reduce_job(log))
    assert result_bytes(JobResult.model_validate_json(data)) == data
    json.loads(data, parse_constant=lambda text: 1 / 0)


def test_two_runs_are_compared_apart_from_times():
    one = reduce_job(whole_job())
    later = [
        event.model_copy(update={"t": "2030", "mono": 9.0} | ({"seconds": 7.0} if hasattr(event, "seconds") else {}))
        for event in whole_job()
    ]
    other = reduce_job(later)
    assert other != one
    assert without_times(other) == without_times(one)
    assert without_times(reduce_job(whole_job(score=3.0))) != without_times(one)
    assert "traceback" not in without_times(reduce_job([started(), failure()]))["error"]


def test_a_clock_that_is_set_back_lets_no_job_end_before_it_began():
    events = whole_job()
    late = [e.model_copy(update={"t": f"2026-01-0{2 if i == 0 else 1}T00:00:00.000Z"}) for i, e in enumerate(events)]
    result = reduce_job(late)
    assert result.ended_at == result.started_at == "2026-01-02T00:00:00.000Z"


def test_what_a_job_tells_of_its_instrument_and_its_surroundings_is_in_its_result():
    raised = Raised(type="KeyError", file="guide.py", line=7)
    judge = Judge(version="1", digest="0123456789abcdef")
    log = [
        started(
            self_reported=("loss",), calibration="elsewhere", runtime=Runtime(python="CPython 3.12", packages="aa")
        ),
        evaluation("c0"),
        evaluation("c1", status="invalid", raised=raised),
        evaluation("c2", status="invalid", raised=raised),
        evaluation("c2", split="test", status="timeout", by="engine"),
        Caged(name="agent", cage=Cage(files="host", reason="no user namespaces")),
        Scored(what="best", split="validation", candidate="c0", score=2.0, metrics={}, repeats=(1.0, 3.0), judge=judge),
        Scored(what="best", split="test", candidate="c0", score=4.0, metrics={}, repeats=(4.0, 4.0), judge=judge),
        finished("unscored"),
    ]
    result = reduce_job(log)
    assert (result.status, result.evaluations_by_status) == ("unscored", {"invalid": 2, "ok": 1})
    assert [(e.type, e.file, e.line, e.count) for e in result.exceptions] == [("KeyError", "guide.py", 7, 2)]
    assert (result.score_val_repeats, result.score_test_repeats, result.judge) == ((1.0, 3.0), (4.0, 4.0), judge)
    assert (result.self_reported, result.calibration, result.runtime.python) == (("loss",), "elsewhere", "CPython 3.12")
    assert result.cages["agent"].files == "host"
    assert JobResult.model_validate_json(result_bytes(result)) == result


@pytest.mark.parametrize("had", range(len(ADDED_TO_RESULTS)))
def test_a_result_that_an_older_version_wrote_still_follows_from_its_events(had):
    result = reduce_job(whole_job())
    older = {k: v for k, v in json.loads(result_bytes(result)).items() if k not in ADDED_TO_RESULTS[had:]}
    text = json.dumps(older, indent=2, ensure_ascii=False).encode() + b"\n"
    assert sealed_bytes(result, content_hash(text)) == text
    assert sealed_bytes(result, content_hash(result_bytes(result))) == result_bytes(result)
    assert sealed_bytes(result, content_hash(text + b" ")) is None
