"""What a run knows of its tasks as instruments: a timed one is calibrated first, and one that does not pass is not scored."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.engine.test_checked import entry, verdict
from tests.unit.store.samples import job_spec

from tracebench_core.errors import ModelError, PluginError
from tracebench_core.specs import Calibration, Feedback, Judge, Requirement, TaskSpec
from tracebench_engine.checks.calibration import instruments
from tracebench_engine.checks.calibration.instruments import Instruments
from tracebench_engine.checks.calibration.measuring import (
    Replies,
    _figure,
    _measured,
    _once,
    _refuse_unknown_examples,
    _start,
    _with_those_compared,
)
from tracebench_engine.checks.calibration.record import TIMED_KINDS, Standing
from tracebench_engine.checks.trial import Cases

PASSED, FAILED = verdict("ratio", "passed"), verdict("ratio", "failed")
GOLD = verdict("gold", "passed")
REFUSED = "its calibration did not pass on this machine: `ratio case` (ratio): expected 1, seen 2"
ALL_THE_SAME = "; `uncalibrated: score` in the config scores it all the same"


class Machine:
    """Stands for what is kept of this machine, and for the process that measures cases."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_writable: bool = True) -> None:
        self.standing, self.seen, self.asked, self.closed = Standing("never"), [Cases("measured")], list[Any](), 0
        self.is_writable = is_writable
        self.kept: dict[str, Standing] = {}
        monkeypatch.setattr(
            instruments, "standing", lambda _host, _task, _spec, options: self.kept.get(str(options), self.standing)
        )
        monkeypatch.setattr(instruments, "keep", self.keep)
        monkeypatch.setattr(instruments, "judge_of", lambda *_: Judge(version="1", digest="d"))
        monkeypatch.setattr(instruments, "Trials", self.trials)

    def trials(self, **told: Any) -> Any:
        assert told["seconds"] >= 60
        return self

    def calibrate(self, task_id: str, options: Any, *, kinds: Any) -> Cases:
        self.asked.append((task_id, options, tuple(kinds)))
        return self.seen.pop(0)

    def keep(self, _host: Any, _task: str, _spec: Any, options: Any, verdicts: Any) -> bool:
        if self.is_writable:
            self.kept[str(options)] = Standing("here", entry(*verdicts))
        return self.is_writable

    def close(self) -> None:
        self.closed += 1


def settled(*jobs: Any, uncalibrated: str = "skip", **fields: Any) -> Instruments:
    spec = TaskSpec.model_validate({"name": "t", "loader": "t:t", "title": "t", **fields})
    config = SimpleNamespace(plugins=None, uncalibrated=uncalibrated)
    jobs = jobs or (job_spec(),)
    plan: Any = SimpleNamespace(config=config, jobs=jobs, tasks={job.task_id: spec for job in jobs})
    found = Instruments(plan, None, root=None)  # type: ignore[arg-type]  # nobody asks the host
    found.settle()
    return found


def test_a_task_that_is_not_timed_is_looked_at_and_not_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    found = settled().of(job_spec())
    assert (found.judge.digest, found.calibration, found.refusal) == ("d", "never", "")
    assert (machine.asked, machine.closed) == ([], 1)


def test_a_timed_task_is_calibrated_once_for_all_jobs_with_its_options(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(monkeypatch)
    machine.seen = [Cases("measured", (PASSED,)), Cases("measured", (PASSED, GOLD))]
    jobs = [job_spec(job_id=f"{n:012x}", seed=n, eval_kwargs={"a": n // 2}) for n in range(4)]
    with caplog.at_level(logging.WARNING):
        found = settled(*jobs, timed=True)
    assert machine.asked == [("suite:task", {"a": n}, tuple(TIMED_KINDS)) for n in (0, 1)]
    assert [found.of(job).refusal for job in jobs] == [""] * 4
    assert found.of(jobs[0]).calibration == "here"
    assert "suite:task is timed: calibrating it, once on this machine" in caplog.text


def test_what_passed_here_before_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.standing = Standing("here", entry(PASSED))
    assert settled(timed=True).of(job_spec()).refusal == ""
    machine.standing = Standing("here", entry(FAILED))
    assert settled(timed=True).of(job_spec()).refusal == REFUSED + ALL_THE_SAME
    assert machine.asked == []


def test_a_timed_task_of_elsewhere_or_of_another_compiler_is_calibrated_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(monkeypatch)
    machine.standing, machine.seen = Standing("elsewhere", entry(PASSED)), [Cases("measured", (PASSED,))]
    assert settled(timed=True).of(job_spec()).calibration == "here"
    assert "never calibrated" not in caplog.text
    machine.standing, machine.seen = Standing("never", changed="cc is 2 now"), [Cases("measured", (PASSED,))]
    machine.kept.clear()
    with caplog.at_level(logging.WARNING):
        settled(timed=True)
    assert "suite:task: never calibrated: cc is 2 now" in caplog.text


@pytest.mark.parametrize(
    ("seen", "refusal"),
    [
        ([Cases("measured", (FAILED,))], REFUSED),
        ([Cases("skipped", why="no compiler")], "it could not be calibrated: no compiler"),
        ([Cases("failed", why="broken")], "it could not be calibrated: broken"),
        ([Cases("measured"), Cases("measured", (GOLD,))], ""),
        ([Cases("measured"), Cases("failed", why="so")], "it could not be calibrated: so"),
        ([Cases("measured"), Cases("measured")], "never calibrated: it offers no case"),
    ],
)
@pytest.mark.parametrize("uncalibrated", ["skip", "score"])
def test_a_timed_task_that_does_not_pass_is_not_scored_unless_the_config_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, seen: list[Cases], refusal: str, uncalibrated: str
) -> None:  # fmt: skip
    machine = Machine(monkeypatch)
    machine.seen, times = [*seen], len(seen)
    with caplog.at_level(logging.WARNING):
        found = settled(timed=True, uncalibrated=uncalibrated).of(job_spec())
    assert [kinds for *_, kinds in machine.asked] == [tuple(TIMED_KINDS), ()][:times]
    scored = f"suite:task is scored although {refusal}" in caplog.text
    if uncalibrated == "score":
        assert (found.refusal, scored) == ("", bool(refusal))
    else:
        assert (found.refusal, scored) == (refusal + ALL_THE_SAME if refusal else "", False)


def test_what_cannot_be_kept_counts_for_this_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(monkeypatch, is_writable=False)
    machine.seen = [Cases("measured", (FAILED,))]
    with caplog.at_level(logging.WARNING):
        found = settled(timed=True).of(job_spec())
    assert found.refusal == REFUSED + ALL_THE_SAME
    assert (
        "what was seen of suite:task cannot be kept: `$XDG_STATE_HOME/trace-bench` cannot be written to" in caplog.text
    )


def test_a_timed_task_that_cannot_run_here_is_not_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    absent = Requirement(kind="command", name="nothing-of-this-name", hint="get it")
    assert settled(timed=True, requires=(absent,)).of(job_spec()).refusal == ""
    assert machine.asked == []


def said(*roles: str) -> Any:
    return [{"role": role, "content": "x"} for role in roles]


class Beyond:
    """Models behind the replies."""

    def complete(self, messages: Any, **told: Any) -> Any:
        return ["beyond", told]

    def endpoint(self, role: str, phase: str) -> Any:
        return ("beyond", role, phase)


def test_a_case_that_scripts_its_model_answers_in_its_stead() -> None:
    replies = Replies(Beyond())  # type: ignore[arg-type]  # answers as models do
    assert replies.complete(said("user"), role="judge", n=2, temperature=0)[1] == {
        "role": "judge", "phase": "training", "n": 2, "temperature": 0,
    }  # fmt: skip
    assert replies.endpoint("judge") == ("beyond", "judge", "training")
    replies.say({"a": "of a", "b": ("first", "second"), "": "of any"}, example="a")
    assert [c.text for c in replies.complete(said("user"), role="judge", n=2)] == ["of a", "of a"]
    replies.say({"a": "of a", "": "of any"}, example="z")
    (one,) = replies.complete(said("user"), role="judge")
    assert (one.text, bool(one.model)) == ("of any", True)
    replies.say({"b": ("first", "second")}, example="b")
    turns = [said("user"), said("user", "assistant", "user"), said("assistant", "assistant", "assistant")]
    assert [replies.complete(turn, role="judge")[0].text for turn in turns] == ["first", "second", "second"]
    with pytest.raises(ModelError, match="have no address") as refused:
        replies.endpoint("judge")
    assert refused.value.kind == "refused"
    replies.say({"b": "x"}, example="a")
    with pytest.raises(ModelError, match=r"^The case has no reply for example `a`\.$") as missing:
        replies.complete(said("user"), role="judge")
    assert missing.value.kind == "replay_miss"


class Bench:
    """A workbench that gives each example the score of its number, and keeps what it was asked."""

    def __init__(self, **scores: float) -> None:
        self.scores, self.asked = scores or {"e1": 1.0, "e2": 2.0}, list[Any]()

    def examples(self, split: str) -> Any:
        return [SimpleNamespace(id=name) for name in (self.scores if split == "train" else ())]

    def evaluate(self, values: Any, *, split: str, name: str, only: Any, repeat: bool) -> Any:
        assert repeat
        self.asked.append((values, split, name, tuple(only)))
        return [
            SimpleNamespace(example=id_, feedback=Feedback(score=score, text=""))
            for id_, score in self.scores.items() if not only or id_ in only
        ]  # fmt: skip

    def aggregate(self, feedbacks: Any) -> float:
        return float(sum(f.score for f in feedbacks))


def case(name: str = "a", **fields: Any) -> Calibration:
    told = {"kind": "known", "expected": 1.0, "values": {"x": 1.0}, **fields}
    return Calibration.model_validate(
        {"name": name, "split": "train", **{k: v for k, v in told.items() if v is not None}}
    )


def test_a_case_is_measured_at_once_and_a_scripted_one_example_by_example() -> None:
    bench, replies = Bench(e1=1.0, e2=2.0, e3=3.0), Replies()
    found = _once(bench, case(examples=("e1", "e3")), {"x": 1}, replies, candidate="c1")  # type: ignore[arg-type]
    assert ({*found}, bench.asked) == ({"e1", "e3"}, [({"x": 1}, "train", "c1", ("e1", "e3"))])
    for replied, examples, expected in (
        ({"e2": "r"}, (), ["e2"]), ({"": "r"}, (), ["e1", "e2", "e3"]), ({"e2": "r"}, ("e3",), ["e3"]), ({"": "r"}, ("e1",), ["e1"]),
    ):  # fmt: skip
        bench.asked.clear()
        found = _once(bench, case(replies=replied, examples=examples), {}, replies, candidate="c")  # type: ignore[arg-type]
        assert [only for *_, only in bench.asked] == [(name,) for name in expected]
        assert [*found] == expected


def test_cases_take_turns_and_each_is_told_before_its_first() -> None:
    bench, told = Bench(), list[str]()
    cases = [case("a", repeats=2), case("b", repeats=3), case("c")]
    seen = _measured(lambda _case: bench, cases, Replies(), "s:t", told.append)  # type: ignore[arg-type,return-value]
    assert told == ["a", "b", "c"]
    assert [name for _, _, name, _ in bench.asked] == ["c1", "c2", "c3", "c1", "c2", "c2"]
    assert [*seen] == ["a", "b", "c"]
    assert _measured(lambda _case: bench, [], Replies(), "s:t", told.append) == {}  # type: ignore[arg-type,return-value]


def test_a_figure_is_the_aggregate_or_the_mean_of_a_metric_that_all_examples_have() -> None:
    def feedback(score: float, status: str = "ok", **metrics: float) -> Feedback:
        return Feedback.model_validate({"score": score, "status": status, "metrics": metrics})

    bench: Any = Bench()
    one, two, lost = feedback(1.0, m=2.0), feedback(2.0, m=5.0), feedback(9.0, status="not_measured", m=1.0)
    assert _figure(bench, case(), {"a": one, "b": two}) == 3.0
    assert _figure(bench, case(metric="m"), {"a": one, "b": two}) == 3.5
    late = feedback(9.0, status="timeout", m=1.0)
    for others in ({}, {"a": one, "b": feedback(1.0)}, {"a": one, "b": lost}, {"a": one, "b": late}):
        assert _figure(bench, case(metric="m"), others) is None


def test_the_start_is_measured_where_a_forgery_has_nothing_else_to_be_compared_with() -> None:
    forged = case("f", kind="forged", expected=None, examples=("e2",))
    for cases, measured in (
        ([forged], True), ([forged, case("r", kind="refused", expected=None)], True), ([forged, case()], False), ([case()], False),
        ([case("f", kind="forged", expected=2.0)], False), ([case("f", kind="forged", expected=None, other="o")], False), ([], False),
    ):  # fmt: skip
        bench: Any = Bench()
        _start(bench, cases, Replies())
        assert bench.asked == ([({}, "train", "initial", ("e2",))] if measured else [])


def test_cases_that_others_are_compared_with_are_measured_too() -> None:
    gold, known = case("gold", kind="gold"), case("known")
    order = case("order", kind="order", expected=None, other="known")
    forged = case("forged", kind="forged", expected=None)
    cases = {each.name: each for each in (gold, known, order, forged)}

    def chosen(*wanted: Calibration) -> list[str]:
        return [each.name for each in _with_those_compared(wanted, cases)]

    assert chosen(order) == ["known", "order"]
    assert chosen(forged) == ["gold", "forged"]
    assert chosen(known) == ["known"]
    assert chosen(case("forged", kind="forged", expected=None, other="known")) == ["known", "forged"]
    assert chosen(case("forged", kind="forged", expected=3.0)) == ["forged"]


@pytest.mark.parametrize(
    "fields", [{"examples": ("e9",)}, {"replies": {"e9": "r", "": "s"}}, {"expected": {"e9": 1.0, "e1": 1.0}}]
)
def test_a_case_that_names_an_example_that_is_not_there_is_refused(fields: Any) -> None:
    with pytest.raises(PluginError, match=r"^Calibration `a` of `s:t` names no example of train: `e9`\.$"):
        _refuse_unknown_examples([case(**fields)], lambda _case: Bench(), "s:t")  # type: ignore[arg-type,return-value]
    with pytest.raises(PluginError, match=r"`exampel7`\. Did you mean `example7`\?$"):
        _refuse_unknown_examples([case(examples=("exampel7",))], lambda _case: Bench(example7=1.0), "s:t")  # type: ignore[arg-type,return-value]
    _refuse_unknown_examples([case(replies={"": "r"}, expected={"e1": 1.0})], lambda _case: Bench(), "s:t")  # type: ignore[arg-type,return-value]
