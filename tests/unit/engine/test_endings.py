"""How processes, trainings, jobs and runs end: in which word, in which words, and after how many failures nothing more is tried."""

from __future__ import annotations

import errno
import logging
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.store.samples import call, candidate, evaluation, failure, job_spec, started, whole_job

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import NoModelAnswered, NothingMeasured, RecordingLeft, UsageError
from tracebench_core.specs import BudgetState, Example, ExampleResult, Feedback, JobOrder, JobResult, Raised, Usage
from tracebench_core.specs.events import BudgetReached, DataKnown, TrainingEnded
from tracebench_engine.door import program
from tracebench_engine.door.program import Silence, bare_environ, describe_exit, find_program
from tracebench_engine.job.circuit_breaker import TrainingBreaker
from tracebench_engine.job.execution import (
    DISK_REFUSED,
    DONE,
    STOPPED,
    TOO_LARGE,
    TRAINED,
    UNSCORED,
    ending,
    unwritable,
)
from tracebench_engine.job.finish import JobSoFar
from tracebench_engine.job.given import Given
from tracebench_engine.job.job import end_of_budget, record_error
from tracebench_engine.job.mishaps import Mishaps
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.run.circuit_breaker import RunBreaker
from tracebench_engine.run.continuing import _changes
from tracebench_engine.run.runner import exit_code
from tracebench_engine.run.supervisor import INTERVAL, Heartbeat
from tracebench_engine.run.underway import Breaks, Underway
from tracebench_runs.storage.layout import RunLayout


@pytest.mark.parametrize(
    ("code", "asked", "end"),
    [
        (None, "", ("died", "the process vanished")),
        (0, "", ("died", "the process ended with exit code 0 and without a result")),
        (STOPPED, "", ("died", "the process was told to end by SIGTERM")),
        (STOPPED, "cancelled", ("cancelled", "the process was told to end by SIGTERM")),
        (DISK_REFUSED, "", ("unwritable", "its files cannot be written")),
        (TOO_LARGE, "", ("unwritable", "its files grow beyond what `ulimit -f` allows")),
        (TOO_LARGE, "timeout", ("timeout", "its files grow beyond what `ulimit -f` allows")),
        (UNSCORED, "", ("died", "its scoring failed")),
        (1, "", ("died", "the process ended with exit code 1")),
        (-9, "timeout", ("timeout", "the process was killed by SIGKILL")),
        (-40, "", ("died", "the process was killed by signal 40")),
    ],
)
def test_a_process_ends_as_its_exit_code_says_or_as_it_was_asked_to(code: int | None, asked: str, end: Any) -> None:
    assert ending(code, asked=asked) == end


def test_what_is_done_or_trained_is_so_whatever_was_asked() -> None:
    assert [ending(code, asked="timeout")[0] for code in (DONE, TRAINED)] == ["done", "trained"]
    assert len({0, DONE, TRAINED, STOPPED, UNSCORED, DISK_REFUSED, TOO_LARGE}) == 7


def test_a_program_ends_with_a_code_or_a_signal_that_may_have_no_name() -> None:
    assert [describe_exit(code) for code in (0, 3, -9, -40)] == [
        "exit code 0", "exit code 3", "signal SIGKILL", "signal 40",
    ]  # fmt: skip
    assert signal.SIGRTMIN < 40 < signal.SIGRTMAX


def test_a_disk_that_refuses_is_told_by_its_error_and_the_folder(tmp_path: Path) -> None:
    order = JobOrder(job=job_spec(), run_dir=str(tmp_path))
    for code, number in ((TOO_LARGE, errno.EFBIG), (DISK_REFUSED, errno.EIO)):
        err = unwritable(order, ending(code)[1])
        assert (err.errno, err.filename) == (number, str(tmp_path / "jobs" / job_spec().job_id))


@pytest.mark.parametrize(
    ("counts", "stopped_by", "code"),
    [
        ({}, "", 0), ({"ok": 3}, "", 0), ({"ok": 3, "skipped": 1}, "", 0), ({"skipped": 2}, "", 3), ({"skipped": 2, "not_run": 1}, "", 0),
        *(({"ok": 1, status: 1}, "", 1) for status in ("failed", "timeout", "cancelled", "unscored")), ({"skipped": 1, "failed": 1}, "", 1),
        ({"failed": 1}, "interrupt", 130), ({"ok": 1}, "cancelled: no reason given", 130), ({"failed": 1}, "run budget:usd", 5),
        ({"failed": 1}, "fail_fast", 1), ({"ok": 1, "not_run": 2}, "", 0),
    ],
)  # fmt: skip
def test_the_exit_code_of_a_run_is_that_of_its_worst(counts: Any, stopped_by: str, code: int) -> None:
    assert exit_code(counts, stopped_by=stopped_by) == code


@pytest.mark.parametrize(
    ("answered", "kind", "calls"),
    [
        (False, "timeout", 5),
        (False, "auth", 1),
        (False, "request", 1),
        (False, "replay_miss", 1),
        (True, "timeout", 30),
        (True, "auth", 30),
    ],
)
def test_a_training_without_answers_is_given_up_after_so_many_calls(answered: bool, kind: str, calls: int) -> None:
    breaker = TrainingBreaker()
    if answered:
        breaker.failed("x", kind="timeout")
        breaker.answered()
    for _ in range(calls - 1):
        breaker.failed("no", kind=kind)
    with pytest.raises(NoModelAnswered) as caught:
        breaker.failed("no", kind=kind)
    last = "the last " if answered else ""
    assert str(caught.value) == f"none of {last}{calls} model calls was answered, the last because of: {kind}: no"


def test_a_replay_that_had_answers_ends_where_it_leaves_its_recording() -> None:
    breaker = TrainingBreaker()
    breaker.answered()
    with pytest.raises(RecordingLeft, match=r"^no$"):
        breaker.failed("no", kind="replay_miss")


def result(**fields: Any) -> JobResult:
    told = {"job_id": "0" * 12, "task_id": "s:t", "suite": "s", "trainer_id": "T", "seed": 1, "mode": "stub"}
    return JobResult.model_validate({**told, "status": "failed", "stop_reason": "error", **fields})


def test_a_run_ends_at_its_fifth_job_that_found_no_model_unless_one_was_answered() -> None:
    lost = result(error={"type": "NoModelAnswered", "message": "no"})
    other = result(error={"type": "ValueError", "message": "no"})
    breaker = RunBreaker()
    assert [breaker.adds_up(each) for each in (lost, other, lost, result(), lost, lost, lost)] == [False] * 6 + [True]
    for usage in (Usage(llm_calls=1), Usage(cached_calls=1)):
        breaker = RunBreaker()
        assert not any(breaker.adds_up(each) for each in [result(usage={"judge": usage}), *[lost] * 9])


def measured(status: str = "ok", *, raised: Raised | None = None, example: str = "e") -> ExampleResult:
    feedback = Feedback.model_validate({"score": 0.0, "status": status, "text": "why"})
    return ExampleResult(example=example, split="train", feedback=feedback, seconds=0.0, raised=raised)


def test_an_exception_that_every_changed_candidate_met_fails_the_job() -> None:
    one, other = Raised(type="KeyError", file="t.py", line=3), Raised(type="ValueError", file="t.py", line=9)
    mishaps = Mishaps()
    mishaps.take("c0", measured(raised=one))
    assert mishaps.verdict() == ""
    mishaps.take("c1", measured(raised=other))
    mishaps.take("c1", measured())
    mishaps.take("c2", measured(raised=one))
    assert mishaps.verdict() == (
        "every changed candidate met an exception of the task: 2 of 4 evaluations raised KeyError (line 3 of t.py); "
        "1 of 4 evaluations raised ValueError (line 9 of t.py)"
    )
    mishaps.take("c3", measured())
    assert mishaps.verdict() == ""


EXAMPLES = {split: [Example(id=f"{split}{i}") for i in range(3)] for split in ("train", "validation", "test")}


@pytest.mark.parametrize(
    ("split", "limit", "without", "ids"),
    [
        (None, None, (), ["test0", "test1", "test2"]), (None, 2, ("test",), ["validation0", "validation1"]),
        (None, 1, ("test", "validation"), ["train0"]), ("train", 5, (), ["train0", "train1", "train2"]),
    ],
)  # fmt: skip
def test_given_candidates_are_measured_on_the_last_split_that_has_examples(
    split: Any, limit: Any, without: Any, ids: list[str]
) -> None:
    held: Any = {name: [] if name in without else examples for name, examples in EXAMPLES.items()}
    chosen, examples = Given(split, limit, 0.5).examples(
        {"train": held["train"], "validation": held["validation"]}, held["test"]
    )
    assert ([example.id for example in examples], chosen) == (ids, ids[0].rstrip("012"))


def test_given_candidates_are_not_measured_on_a_split_without_examples() -> None:
    with pytest.raises(UsageError, match="no examples to evaluate on in `validation`, but in `test` and `train`"):
        Given("validation", None, 0.5).examples({"train": EXAMPLES["train"]}, EXAMPLES["test"])


@pytest.mark.parametrize(
    ("lost", "of", "most", "error", "words"),
    [
        (9, 9, 1.0, None, ""), (10, 12, 1.0, NothingMeasured, "none of 10 evaluations could be measured: why"), (0, 0, 0.0, None, ""),
        (1, 2, 0.5, None, ""), (2, 3, 0.5, NotMeasured, "2 of 3 evaluations could not be measured, the last because of: why"),
        (3, 3, 0.5, NothingMeasured, "3 of 3 evaluations could not be measured, the last because of: why"),
    ],
)  # fmt: skip
def test_given_candidates_are_given_up_where_too_much_cannot_be_measured(
    lost: int, of: int, most: float, error: Any, words: str
) -> None:
    results = [measured("not_measured")] * lost + [measured()] * (of - lost)
    watched = Given(None, None, most).watched(results)
    if error is None:
        assert list(watched) == results
        return
    with pytest.raises(error) as caught:
        list(watched)
    assert (type(caught.value), str(caught.value)) == (error, words)


def so_far(*events: Any) -> JobSoFar:
    return JobSoFar(events)


def test_what_earlier_processes_left_says_how_the_job_ended() -> None:
    spent = BudgetReached(axis="usd", scope="run", cap=1.0, used=BudgetState())
    own = BudgetReached(axis="evaluations", scope="job", cap=1.0, used=BudgetState())
    lost = evaluation("c0", status="not_measured")
    trained = TrainingEnded(status="skipped", stop_reason="so", used=BudgetState(evaluations=7), seconds=3.5)
    begun = (started(), candidate("c0"))
    assert [so_far(*begun).end(how) for how in ("timeout", "killed")] == [("timeout", "timeout"), ("failed", "error")]
    assert so_far(*begun, lost, spent).end("killed") == ("cancelled", "run budget:usd")
    assert so_far(*begun, evaluation(), spent).end("killed") == ("ok", "run budget:usd")
    assert so_far(*begun, own).end("killed") == ("ok", "budget:evaluations")
    assert so_far(*begun, own, trained).end("timeout") == ("skipped", "so")
    assert (so_far(*begun, trained).used().evaluations, so_far(*begun, trained).seconds()) == (7, 3.5)


def test_what_earlier_processes_left_tells_candidates_calls_and_forgeries() -> None:
    whole = so_far(*whole_job())
    assert (whole.final(), whole.shown(), whole.finished, whole.anything, whole.is_forged) == (
        "c1",
        "c1",
        True,
        True,
        True,
    )
    assert whole.used().model_dump(exclude_defaults=True) == {
        "evaluations": 2,
        "llm_calls": 1,
        "tokens": 15,
        "usd": 0.5,
    }
    training = so_far(*whole_job()[:3], call(call=4), call(call=2), candidate("c1"), failure())
    assert (training.final(), training.shown(), training.finished, training.is_forged) == ("c0", "c1", False, False)
    assert (training.last_call, training.ends_in_error, so_far(failure(), candidate()).ends_in_error) == (
        4,
        True,
        False,
    )
    assert so_far(started(), DataKnown(splits={})).is_forged
    assert so_far(started(), candidate("c0"), evaluation("c0", split="test")).is_forged
    assert so_far(started(), evaluation("c0", by="engine")).final() == "c0"


@pytest.mark.parametrize(
    ("events", "worth"),
    [
        ([], {"ok": False, "failed": False}), ([candidate("c0")], {"ok": True, "failed": False}),
        ([candidate("c0"), evaluation("c0", status="not_measured")], {"ok": True, "timeout": False}),
        ([candidate("c0"), evaluation("c0")], {"ok": True, "failed": True, "timeout": True}),
    ],
)  # fmt: skip
def test_a_job_is_scored_that_measured_anything_or_ended_well(events: Any, worth: dict[Any, bool]) -> None:
    assert {status: so_far(*events).is_worth_scoring(status) for status in worth} == worth


def test_a_cap_of_the_run_that_let_nothing_be_measured_cancels() -> None:
    assert end_of_budget("usd", "job", measured=False) == ("ok", "budget:usd")
    assert end_of_budget("usd", "run", measured=True) == ("ok", "run budget:usd")
    assert end_of_budget("usd", "run", measured=False) == ("cancelled", "run budget:usd")


def test_of_a_long_traceback_the_end_is_kept_and_a_hint_stands_beside_its_error() -> None:
    events: list[Any] = []
    recorder = Recorder(events.append)
    record_error(recorder, ValueError("x" * 30_000), fatal=True)
    record_error(recorder, ValueError(), fatal=False)
    record_error(recorder, UsageError("none", hint="do so"), fatal=False)
    assert [len(event.traceback) for event in events[:1]] == [20_000]
    assert events[0].traceback.endswith("x\n")
    assert [event.message for event in events[1:]] == ["ValueError: ", "none (do so)"]
    assert [(event.type, event.fatal) for event in events] == [
        ("ValueError", True), ("ValueError", False), ("UsageError", False),
    ]  # fmt: skip


class Helper:
    """Is knocked at, and answers when told to."""

    def __init__(self) -> None:
        self.ends: list[socket.socket] = []
        self.heartbeat = Heartbeat(self.knock)

    def knock(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self.ends.append(theirs)
        return ours


@pytest.fixture
def helper() -> Iterator[Helper]:
    helper = Helper()
    yield helper
    helper.heartbeat.begin()
    for end in helper.ends:
        end.close()


def beaten(heartbeat: Heartbeat, seconds: float) -> None:
    for _ in range(round(seconds / INTERVAL)):
        heartbeat.beat()


def test_a_helper_is_asked_at_once_then_after_ten_seconds_and_lost_after_two_minutes_of_silence(helper: Helper) -> None:
    heartbeat = helper.heartbeat
    beaten(heartbeat, 0.2)
    (end,) = helper.ends
    end.sendall(b"x")
    beaten(heartbeat, 10.0)
    assert helper.ends == [end]
    beaten(heartbeat, 0.4)
    _, end = helper.ends
    end.sendall(b"x")
    beaten(heartbeat, 0.2)
    beaten(heartbeat, 119.8)
    assert not heartbeat.is_lost(ending=False)
    beaten(heartbeat, 0.4)
    assert heartbeat.is_lost(ending=False)


def test_one_that_never_answered_has_a_quarter_of_an_hour_and_less_while_the_run_ends(helper: Helper) -> None:
    heartbeat = helper.heartbeat
    beaten(heartbeat, 19.6)
    assert not heartbeat.is_lost(ending=True)
    beaten(heartbeat, 0.6)
    assert (heartbeat.is_lost(ending=True), heartbeat.is_lost(ending=False)) == (True, False)
    heartbeat.begin(ending=True)
    beaten(heartbeat, 39.6)
    assert not heartbeat.is_lost(ending=True)
    beaten(heartbeat, 0.6)
    assert heartbeat.is_lost(ending=True)
    heartbeat.begin()
    beaten(heartbeat, 899.6)
    assert not heartbeat.is_lost(ending=False)
    beaten(heartbeat, 0.8)
    assert heartbeat.is_lost(ending=False)


def test_a_helper_that_takes_nobody_any_more_is_asked_again() -> None:
    asked: list[int] = []

    def refuse() -> socket.socket:
        asked.append(1)
        raise ConnectionRefusedError

    heartbeat = Heartbeat(refuse)
    beaten(heartbeat, 1.0)
    assert len(asked) == 5


def test_what_an_executor_tells_twice_or_was_never_given_is_no_news(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def end(job: str, how: str) -> Any:
        return SimpleNamespace(order=SimpleNamespace(job=SimpleNamespace(job_id=job)), exit=how)

    underway = Underway()
    underway.begins(JobOrder(job=job_spec(job_id="a" * 12), run_dir=str(tmp_path)))
    told = [("b" * 12, "done"), ("a" * 12, "trained"), ("a" * 12, "trained"), ("a" * 12, "done"), ("a" * 12, "done")]
    with caplog.at_level(logging.WARNING):
        assert [underway.is_news(end(*each)) for each in told] == [False, True, False, True, False]
    assert len(caplog.records) == 3
    assert [*underway.jobs] == []


def test_a_job_under_which_something_broke_is_run_again_three_times_the_last_alone(tmp_path: Path) -> None:
    breaks = Breaks(RunLayout(tmp_path))
    assert not breaks.must_wait("a", ["b"])
    assert [breaks.is_run_again("a") for _ in range(2)] == [True, True]
    assert not breaks.must_wait("a", ["b"])
    assert breaks.is_run_again("a")
    assert (breaks.must_wait("a", ["b"]), breaks.must_wait("b", ["a"]), breaks.must_wait("a", [])) == (
        True,
        True,
        False,
    )
    assert not breaks.must_wait("b", ["c"])
    assert not breaks.is_run_again("a")


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"a": 1, "run_id": "x"}, {"a": 1, "run_id": "y"}, []),
        ({"a": 1}, {"a": 2, "b": None}, ["`a`: 1 -> 2"]),
        ({"a": {"run_id": 1}}, {"a": {"run_id": 2}}, ["`a.run_id`: 1 -> 2"]),
        ({"t": [{"a": 1}, {"b": 1}]}, {"t": [{"a": 1}, {"b": 2}]}, ["`t[1].b`: 1 -> 2"]),
        ({"t": [{"a": 1}]}, {"t": [{"a": 1}, {"b": 2}]}, ["`t`: [{a: 1}] -> [{a: 1}, {b: 2}]"]),
        ({"s": [1, 2]}, {"s": [1, 3]}, ["`s`: [1, 2] -> [1, 3]"]),
        ({"a": "x" * 80}, {"a": "x" * 81}, [f"`a`: {'x' * 80} -> {'x' * 77}…"]),
        ({"a": None}, {}, []),
    ],
)
def test_what_differs_between_two_configs_is_told_field_by_field(before: Any, after: Any, changes: list[str]) -> None:
    assert list(_changes(before, after)) == changes


class Quiet:
    """A problem whose program uses what it is told to have used."""

    def __init__(self) -> None:
        self.used, self.said = BudgetState(), list[tuple[str, bool]]()
        self.budget = SimpleNamespace(used=lambda: self.used)

    def activity(self, words: str, *, notice: bool = False) -> None:
        self.said.append((words, notice))


def test_a_silent_program_is_told_of_at_half_of_what_it_has_and_ended_at_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(program, "time", SimpleNamespace(monotonic=lambda: now[0]))
    problem: Any = Quiet()
    silence = Silence(problem, "gepa", limit=90.0)

    def look(at: float) -> bool:
        now[0] = at
        return silence.look()

    first = "`gepa` has asked no model and evaluated nothing in its first"
    assert [look(at) for at in (44.9, 45.0, 46.0)] == [False, False, False]
    assert problem.said == [(f"{first} 45 s; it is ended after 90 s", True)]
    problem.used = BudgetState(llm_calls=1)
    assert not look(50.0)
    assert problem.said[1:] == [("", False)]
    assert [look(at) for at in (94.9, 95.0, 139.9, 140.0)] == [False, False, False, True]
    later = "`gepa` has had no answer of a model, and has evaluated nothing, for"
    assert problem.said[2:] == [(f"{later} 45 s; it is ended after 90 s", True)]
    assert silence.words == f"{later} 90 s, and was ended"


@pytest.mark.parametrize(("limit", "told"), [(None, 60.0), (1000.0, 60.0), (10.0, 5.0)])
def test_a_program_is_told_of_after_a_minute_at_the_latest(
    monkeypatch: pytest.MonkeyPatch, limit: float | None, told: float
) -> None:
    now = [0.0]
    monkeypatch.setattr(program, "time", SimpleNamespace(monotonic=lambda: now[0]))
    problem: Any = Quiet()
    silence = Silence(problem, "x", limit=limit)
    for at, said in ((told - 0.1, 0), (told, 1)):
        now[0] = at
        silence.look()
        assert len(problem.said) == said
    assert problem.said[0][0].endswith(
        f"first {told:g} s" + ("" if limit is None else f"; it is ended after {limit:g} s")
    )


def test_a_program_has_nothing_of_the_user_but_what_is_named(tmp_path: Path) -> None:
    environ = {"PATH": "/p", "HOME": "/me", "OPENAI_API_KEY": "x", "LANG": "C", "TMPDIR": "/t"}
    bare = bare_environ(tmp_path, environ, places={"MINE": "mine/deep"})
    places = {
        "HOME": "home",
        "TMPDIR": "tmp",
        "XDG_CACHE_HOME": "cache",
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
    }
    places |= {"XDG_STATE_HOME": "state", "MINE": "mine/deep"}
    assert bare == {
        "PATH": "/p", "LANG": "C", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
        **{name: str(tmp_path / place) for name, place in places.items()},
    }  # fmt: skip
    assert all((tmp_path / place).is_dir() for place in places.values())


def test_a_program_is_found_on_its_path_or_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "text").write_text("")
    assert find_program("run", tmp_path, path=str(tmp_path)) == str(tmp_path / "run")
    assert find_program("./run", tmp_path, path="") == "./run"
    for name, folder, error in (
        ("run", tmp_path, FileNotFoundError), ("./none", tmp_path, FileNotFoundError), ("./text", tmp_path, PermissionError),
        ("sh", tmp_path / "none", FileNotFoundError),
    ):  # fmt: skip
        with pytest.raises(error):
            find_program(name, folder, path="/nowhere")
