"""Each thing that happens in a job is one event with all that is known of it."""

from __future__ import annotations

from typing import Any

from tests.unit.store.samples import job_spec

from tracebench_core.specs import (
    BudgetState,
    Cage,
    Candidate,
    ExampleResult,
    Feedback,
    Judge,
    Raised,
    SplitData,
    TaskSpec,
)
from tracebench_core.specs.events import Event
from tracebench_engine.measure.recorder import Recorder


def recorded(act: Any, **fields: Any) -> list[dict[str, Any]]:
    """Return what a recorder writes while `act` is called with it, without what every event has."""
    events: list[Event] = []
    act(Recorder(events.append, **fields))
    return [event.model_dump(mode="json", exclude={"v", "seq", "t", "mono"}) for event in events]


USED = BudgetState(evaluations=3)
AMOUNTS = USED.model_dump(mode="json")


def test_a_job_begins_with_what_it_runs_and_what_its_task_declares() -> None:
    task = TaskSpec(name="t", loader="t:t", title="t", worst_score=-1.0, self_reported=("speed",), content="held")
    job = job_spec(settings={"n": 3}, label="Cee")
    (told,) = recorded(
        lambda r: r.started(job, versions={"core": "1"}, task=task, calibration="here", reads_budget=True)
    )
    assert told.pop("runtime")
    assert told == {
        "kind": "job_started", "job_id": job.job_id, "task": "suite:task", "trainer": "Climber", "label": "Cee", "models": {},
        "params": {"n": 3}, "seed": 1, "budget": job.budget.model_dump(mode="json"), "mode": "stub", "versions": {"core": "1"},
        "objectives": [], "worst_score": -1.0, "aggregate": "mean", "reads_budget": True, "self_reported": ["speed"], "content": "held",
        "calibration": "here",
    }  # fmt: skip
    assert recorded(lambda r: r.started(job, versions={}, task=task))[0]["reads_budget"] is False


def test_candidates_and_their_measurements_are_kept_whole() -> None:
    candidate = Candidate(id="c1", values={"x": 1.0}, parents=("c0",), origin="mutate")
    feedback = Feedback(score=0.5, text="so", metrics={"m": 2.0}, status="invalid")
    raised = Raised(type="KeyError", file="t.py", line=3)
    result = ExampleResult(
        example="e", split="train", feedback=feedback, seconds=1.5, raised=raised, reused=True, reused_from="a/1"
    )

    def act(recorder: Recorder) -> None:
        recorder.candidate(candidate, step=2)
        recorder.evaluation("c1", result, step=2)
        recorder.evaluation("c1", result, by="engine")
        recorder.best("c1", 0.5, USED, step=2)
        recorder.decision("c1", "rejected", "worse")

    first, evaluation, engines, best, decision = recorded(act)
    assert first == {
        "kind": "candidate",
        "id": "c1",
        "parents": ["c0"],
        "origin": "mutate",
        "values": {"x": 1.0},
        "step": 2,
    }
    whole = {
        "kind": "evaluation", "candidate": "c1", "split": "train", "example": "e", "score": 0.5, "status": "invalid",
        "metrics": {"m": 2.0}, "feedback": "so", "seconds": 1.5, "by": "trainer", "step": 2, "reused": True, "reused_from": "a/1",
        "digest": "", "raised": {"type": "KeyError", "file": "t.py", "line": 3},
    }  # fmt: skip
    assert evaluation == whole
    assert engines == whole | {"by": "engine", "step": None}
    assert best == {"kind": "best", "candidate": "c1", "score": 0.5, "used": AMOUNTS, "step": 2}
    assert decision == {"kind": "decision", "candidate": "c1", "verdict": "rejected", "reason": "worse"}


def test_a_measurement_that_may_be_reused_has_a_digest_and_one_that_was_reused_has_none() -> None:
    def digest(**fields: Any) -> str:
        result = ExampleResult(example="e", split="train", feedback=Feedback(score=0.5), seconds=0.0, **fields)
        return str(recorded(lambda r: r.evaluation("c1", result))[0]["digest"])

    assert len({digest(key="a"), digest(key="b"), ""}) == 3
    assert digest() == digest(key="a", reused=True) == ""


def test_what_happens_in_a_step_belongs_to_it_and_to_the_inner_one_of_two() -> None:
    def act(recorder: Recorder) -> None:
        recorder.metric("before", 1.0)
        with recorder.step(0):
            recorder.metric("loss", 0.5)
            with recorder.step(1):
                recorder.proposals(asked=2, usable=1, duplicate=1, invalid=0)
            recorder.proposals(asked=1, usable=0, duplicate=0, invalid=1)
            recorder.step_finished(0, score=None, best=1.5, seconds=0.25, used=USED)
        recorder.metric("after", 2.0)
        assert recorder.proposed == {"asked": 3, "usable": 1, "duplicate": 1, "invalid": 1}

    told = recorded(act)
    assert [(event["kind"], event.get("step", event.get("index"))) for event in told] == [
        ("metric", None), ("step_started", 0), ("metric", 0), ("step_started", 1), ("proposals", 1), ("proposals", 0),
        ("step_finished", 0), ("metric", None),
    ]  # fmt: skip
    assert told[2] == {"kind": "metric", "name": "loss", "value": 0.5, "step": 0}
    assert told[4] == {"kind": "proposals", "asked": 2, "usable": 1, "duplicate": 1, "invalid": 0, "step": 1}
    assert told[6] == {
        "kind": "step_finished",
        "index": 0,
        "score": None,
        "best": 1.5,
        "seconds": 0.25,
        "used": AMOUNTS,
    }


def test_a_flag_is_raised_once_and_every_other_remark_as_often_as_it_is_made() -> None:
    def act(recorder: Recorder) -> None:
        recorder.flag("late", "first")
        recorder.flag("late", "second")
        recorder.flag("odd", "so")
        recorder.activity("warming", 1, 5)
        recorder.activity("look", notice=True)
        recorder.examples(train=["a"], validation=[])
        recorder.comparison_set(["a"])
        recorder.caged("gepa", Cage(files="host", reason="no"))
        recorder.data({"train": SplitData(examples=2, sha256="0" * 64)})
        recorder.error("ValueError", "no", traceback="T", fatal=True)
        recorder.budget("usd", scope="run", cap=1.5, used=USED)

    told = recorded(act)
    assert told[:5] == [
        {"kind": "flag", "name": "late", "reason": "first"},
        {"kind": "flag", "name": "odd", "reason": "so"},
        {"kind": "activity", "doing": "warming", "done": 1, "total": 5, "notice": False},
        {"kind": "activity", "doing": "look", "done": None, "total": None, "notice": True},
        {"kind": "examples", "train": ["a"], "validation": []},
    ]
    assert [event["kind"] for event in told[5:]] == ["comparison_set", "cage", "data", "error", "budget"]
    assert (told[5]["examples"], told[6]["name"], told[6]["cage"]["reason"]) == (["a"], "gepa", "no")
    assert told[7]["splits"]["train"]["examples"] == 2
    assert told[8] == {"kind": "error", "type": "ValueError", "message": "no", "traceback": "T", "fatal": True}
    assert told[9] == {"kind": "budget", "axis": "usd", "scope": "run", "cap": 1.5, "used": AMOUNTS}


def test_what_a_suite_keeps_bears_its_name_and_an_environment_its_seconds() -> None:
    def act(recorder: Recorder) -> None:
        recorder.suite_record("frame", {"n": 1}, "c1", "e")
        recorder.environment("world", "job", "opened", seconds=0.12345678)
        recorder.environment("world", None, "failed", reason="no")

    named, opened, failed = recorded(act, suite="games")
    assert (named["name"], named["data"], named["candidate"], named["example"], named["step"]) == (
        "games.frame", {"n": 1}, "c1", "e", None,
    )  # fmt: skip
    assert recorded(act)[0]["name"] == "frame"
    assert (opened["what"], opened["scope"], opened["seconds"], opened["reason"]) == ("opened", "job", 0.123457, "")
    assert (failed["what"], failed["scope"], failed["seconds"], failed["reason"]) == ("failed", None, 0.0, "no")


def test_the_engines_scores_say_who_judged() -> None:
    judge = Judge(version="own 1", digest="d")

    def act(recorder: Recorder) -> None:
        recorder.scored("best", "test", candidate="c1", score=0.5, metrics={"m": 1.0}, repeats=(0.5, 0.25))
        recorder.trained("ok", "completed", used=USED, seconds=2.5)
        recorder.finished("failed", "error", used=USED, seconds=3.5)

    scored, trained, finished = recorded(act, judge=judge)
    assert scored == {
        "kind": "scored", "what": "best", "split": "test", "candidate": "c1", "score": 0.5, "metrics": {"m": 1.0},
        "repeats": [0.5, 0.25], "judge": {"version": "own 1", "digest": "d"},
    }  # fmt: skip
    assert trained == {"kind": "trained", "status": "ok", "stop_reason": "completed", "used": AMOUNTS, "seconds": 2.5}
    assert (finished["status"], finished["stop_reason"], finished["seconds"]) == ("failed", "error", 3.5)
