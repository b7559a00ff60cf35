"""A library's own program is run on what a job was answered: what it is told, when it is ended, and what is said of what it visited."""

from __future__ import annotations

import importlib.util
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.store.conftest import finish_run
from tests.unit.store.samples import call, candidate, evaluation, job_spec, started

from tracebench_core.contracts import Twin
from tracebench_core.errors import NotApplicableError, ProgramError, RunDirError
from tracebench_core.specs import Budget, BudgetState, Example, ModelIdentity, Parameter, TrainerSpec
from tracebench_core.specs.events import TrainingEnded
from tracebench_engine.checks.twins import beside
from tracebench_engine.checks.twins.answering import Answering, Gone
from tracebench_engine.checks.twins.beside import STUB, Beside, _judge, _order, run_beside, twin_of
from tracebench_engine.checks.twins.told import Call, Measured, Told, key_of, prompt_of, read_told, shared
from tracebench_gateway.cassette.recorder import Recorder
from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply, Tokens

KEYS = [key_of({"x": float(n)}) for n in range(4)]
WITHOUT = Twin(program=Path("none"), python=sys.executable, library="pytest")


def message(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def told(**changes: Any) -> Told:
    """Return a job that measured `x` from 0 to 2 on `e1` and asked its model `to 1` and `to 2`."""
    fields: dict[str, Any] = {
        "calls": tuple(Call(prompt_of(message(f"to {n}")), {"content": f"x={n}"}, "stop") for n in (1, 2)),
        "candidates": {KEYS[n]: f"c{n}" for n in range(3)},
        "measured": tuple((KEYS[n], "e1") for n in range(3)),
        "results": {(KEYS[n], "e1"): (Measured(n / 10, "ok", f"at {n}", {"m": 1.0}),) for n in range(3)},
        "is_cut": False, "seconds": 9.0, "waited": 4.0, "measuring": 2.0,
    }  # fmt: skip
    return Told(**(fields | changes))


def opened() -> Any:
    task = SimpleNamespace(
        objective="Be high.",
        parameters=[Parameter(name="x", initial=0.0, kind="number", minimum=0, maximum=9)],
        splits={
            "train": [Example(id="e1", input={"a": 1}, reference="r")],
            "validation": [Example(id="v1", input="v", reference="secret")],
        },
    )
    return SimpleNamespace(task=task)


JOB = job_spec(
    seed=7, settings={"depth": 2}, budget=Budget(evaluations=5), models={"optimizer": ModelIdentity(provider="p", model="m")}
)  # fmt: skip
Run = Callable[..., Beside]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(source: str, *, workers: int = 1, any_order: str = "", job: Told | None = None) -> Beside:
        program = tmp_path / "program.py"
        program.write_text(source)
        twin = Twin(program=program, python=sys.executable, library="pytest", any_order=any_order)
        return run_beside(JOB, job or told(), twin, opened(), workers=workers)

    return run


def visiting(*numbers: int, prompts: tuple[str, ...] = ("to 1", "to 2")) -> str:
    return (
        "import recorded\nrecorded.measure(recorded.initial, recorded.train)\n"
        + "".join(f"recorded.ask({prompt!r})\n" for prompt in prompts)
        + "".join(f"recorded.measure({{'x': {n}}}, ['e1'])\n" for n in numbers)
    )


def test_a_program_that_visits_the_same_is_the_same_and_its_figures_stand_beside_the_jobs(run: Run) -> None:
    found = run(visiting(1, 2))
    assert (found.verdict, found.words) == ("same", "the same candidates in the same order")
    assert (found.candidates, found.measured, found.prompts) == (2, (3, 3), (2, 2))
    assert (found.job_id, found.task, found.trainer, found.seed) == (JOB.job_id, JOB.task_id, JOB.called, 7)
    assert (found.library, found.version) == ("pytest", pytest.__version__)
    assert (found.job_seconds, found.job_waited, found.job_measuring) == (9.0, 4.0, 2.0)
    assert found.twin_cpu_seconds is not None
    assert found.twin_cpu_seconds > 0
    assert found.twin_seconds > 0


def test_the_same_from_other_prompts_or_from_fewer_is_unproven(run: Run) -> None:
    other = run(visiting(1, 2, prompts=("to 1", "so", "else")), job=told(calls=(*told().calls, told().calls[0])))
    assert (other.verdict, other.prompts) == ("unproven", (1, 3))
    assert other.words == (
        "the same candidates in the same order, but 2 of its 3 prompts were none of the job's, and were answered in the job's order"
    )
    fewer = run(visiting(1, 2, prompts=("to 1",)))
    assert (fewer.verdict, fewer.prompts) == ("unproven", (1, 2))
    assert fewer.words == "the same candidates in the same order, but 1 of the job's 2 prompts it never sent"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import sys; print('so'); sys.exit(3)", "failed with code 3: so."),
        ("", "failed with code 0: without a word."),
        (visiting(1, 2) + "print('x' * 2000); raise SystemExit(4)", f"failed with code 4: {'x' * 1500}."),
        ("import sys, types\nsys.modules['tracebench_toy'] = sys.modules['tracebench'] = types\n" + visiting(1, 2),
         "has imported tracebench, tracebench_toy, and so proves nothing."),
    ],
)  # fmt: skip
def test_a_program_that_fails_or_imports_the_bench_proves_nothing(run: Run, source: str, words: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run(source)
    assert str(caught.value) == f"The twin of `{JOB.trainer_id}` {words}"


def test_a_program_that_is_silent_is_ended(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "SILENCE", 0.0)
    with pytest.raises(ProgramError, match=r"failed with code -9: without a word\.$"):
        run("import time; time.sleep(600)")


def test_a_program_goes_on_for_moments_only_once_it_asked_for_what_is_not_there(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "GRACE", 0.0)
    hanging = "try:\n    recorded.ask('more')\nexcept BaseException:\n    import time; time.sleep(600)\n"
    found = run(visiting(1, 2) + hanging)
    assert (found.verdict, found.twin_cpu_seconds) == ("differs", None)
    assert found.words == "it asked its model once more than the job did, and no cap had ended the job"
    ended = run(visiting(1, 2) + "recorded.ask('more')", job=told(is_cut=True))
    assert (ended.verdict, ended.words) == ("same", "the same candidates in the same order")


@pytest.fixture
def answered() -> Iterator[Callable[..., Answering]]:
    """Yield what makes an answering that has been asked to measure some candidates."""
    held: list[Answering] = []

    def make(job: Told, *numbers: int) -> Answering:
        answering = Answering(job).__enter__()
        held.append(answering)
        for number in numbers:
            asked = {"values": {"x": number}, "examples": ["e1"], "version": "1", "ours": []}
            try:
                answering.measure(asked)
            except Gone:
                continue
        return answering

    yield make
    for answering in held:
        answering.__exit__(None, None, None)


WHOLE, CUT = told(), told(is_cut=True)


@pytest.mark.parametrize(
    ("visited", "job", "workers", "any_order", "told_of_it"),
    [
        ((0, 1, 2), WHOLE, 1, "", ("same", "the same candidates in the same order")),
        ((1, 2), WHOLE, 1, "", ("same", "the same candidates in the same order")),
        ((2, 1), WHOLE, 1, "", ("differs", "in the place of `c1` came `c2`")),
        ((2, 1), WHOLE, 2, "", ("same set", "the same candidates in another order, as may be: the run evaluated 2 at a time")),
        ((2, 1), WHOLE, 2, "so", ("same set", "the same candidates in another order, as may be: so")),
        ((0, 1), WHOLE, 1, "", ("differs", "the twin never had `c2`")),
        ((0,), WHOLE, 2, "so", ("differs", "the twin never had `c1`, `c2`")),
        ((0, 1, 2, 3), CUT, 1, "", ("same", "the same candidates in the same order")),
        ((0, 1, 2, 3), WHOLE, 1, "", ("differs", "it asked to measure a candidate that the job never had, and no cap had ended the job")),
        ((0, 1, 3), CUT, 1, "", ("differs", "the twin never had `c2`: it asked to measure a candidate that the job never had")),
    ],
)  # fmt: skip
def test_what_was_visited_is_judged(
    answered: Callable[..., Answering], visited: Any, job: Told, workers: int, *, any_order: str, told_of_it: Any
) -> None:
    twin = Twin(program=Path("p"), python="p", library="l", any_order=any_order)
    assert _judge(job, answered(job, *visited), twin, workers=workers) == told_of_it


def test_of_many_that_a_twin_never_had_five_are_named(answered: Callable[..., Answering]) -> None:
    job = told(candidates={key_of({"x": n}): f"c{n}" for n in range(9)})
    _, words = _judge(job, answered(job, 0), WITHOUT, workers=1)
    assert words == "the twin never had `c1`, `c2`, `c3`, `c4`, `c5`"


def test_a_program_is_told_what_a_trainer_sees_and_no_answer_of_validation(answered: Callable[..., Answering]) -> None:
    answering = answered(told())
    twin = Twin(program=Path("p"), python="p", library="l", settings={"a": 1})
    order = _order(JOB, twin, opened(), answering)
    assert (order["base_url"], order["api_key"]) == (answering.base_url, answering.api_key)
    assert {name: order[name] for name in ("model", "library", "seed", "objective", "settings", "evaluations")} == {
        "model": "m", "library": "l", "seed": 7, "objective": "Be high.", "settings": {"a": 1}, "evaluations": 5,
    }  # fmt: skip
    assert [p["name"] for p in order["parameters"]] == ["x"]
    assert order["train"] == [{"id": "e1", "input": {"a": 1}, "reference": "r"}]
    assert order["validation"] == [{"id": "v1", "input": "v"}]
    without = opened()
    del without.task.splits["validation"]
    bare = _order(job_spec(), twin, without, answering)
    assert (bare["model"], bare["validation"], bare["evaluations"]) == ("", [], None)


def asked(answering: Answering, path: str, body: Any, *, key: str | None = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {answering.api_key if key is None else key}"}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(answering.base_url + path, data, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"]["message"]


def test_over_http_each_kind_of_answer_has_its_status(answered: Callable[..., Answering]) -> None:
    failed = Call(prompt_of(message("bad")), {}, "", error="overloaded")
    answering = answered(told(calls=(*told().calls, failed)))
    assert asked(answering, "/chat/completions", {"messages": message("to 1")}, key="x") == (401, "no such key")
    assert asked(answering, "/chat/completions", {"messages": message("bad")}) == (500, "overloaded")
    assert asked(answering, "/measure", b"{")[0] == 500
    assert asked(answering, "/measure", {})[0] == 500
    status, both = asked(answering, "/chat/completions", {"messages": message("to 2"), "n": 2, "model": "m"})
    assert (status, both["object"], both["model"]) == (200, "chat.completion", "m")
    assert [(c["index"], c["message"], c["finish_reason"]) for c in both["choices"]] == [
        (0, {"role": "assistant", "content": "x=2"}, "stop"), (1, {"role": "assistant", "content": "x=1"}, "stop"),
    ]  # fmt: skip
    usage = both["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    status, found = asked(
        answering, "/measure", {"values": {"x": 1}, "examples": ["e1"], "version": "3", "ours": ["tracebench_core"]}
    )
    assert (status, found) == (
        200,
        [{"score": 0.1, "status": "ok", "feedback": "at 1", "metrics": {"m": 1.0}, "example": "e1"}],
    )
    assert (answering.version, answering.ours) == ("3", {"tracebench_core"})
    gone = "it asked its model once more than the job did"
    assert asked(answering, "/chat/completions", {"messages": message("to 1")}) == (402, gone)
    assert asked(answering, "/measure", {"values": {"x": 2}, "examples": ["e1"], "version": "3", "ours": []}) == (
        402,
        gone,
    )


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: Callable[..., Answering]) -> Callable[..., Any]:
    """Return what loads the module that a program finds, with parameters and results of a test's choosing."""

    def load(job: Told | None = None, **changes: Any) -> Any:
        answering = answered(job or told())
        twin = Twin(program=Path("p"), python="p", library="pytest", settings={"depth": 2})
        order = {**_order(JOB, twin, opened(), answering), **changes}
        (tmp_path / "job.json").write_text(json.dumps(order))
        monkeypatch.setenv("RECORDED_JOB", str(tmp_path / "job.json"))
        spec = importlib.util.spec_from_file_location("recorded", STUB / "recorded.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.answering = answering  # type: ignore[attr-defined]  # for the tests
        return module

    return load


def test_a_program_finds_the_job_as_its_trainer_did(recorded: Callable[..., Any]) -> None:
    module = recorded()
    assert (module.model, module.seed, module.objective, module.evaluations) == ("m", 7, "Be high.", 5)
    assert (module.settings.depth, module.initial) == (2, {"x": 0.0})
    assert [e.id for e in (*module.train, *module.validation)] == ["e1", "v1"]
    assert (module.example("v1").input, module.example("e1").reference) == ("v", "r")
    assert (module.shown("e1"), module.shown(module.example("v1"))) == ('{"a": 1}', "v")
    assert [e.id for e in recorded(validation=[]).validation] == ["e1"]


def test_a_program_is_told_what_a_parameter_is(recorded: Callable[..., Any]) -> None:
    fields = {"description": "", "kind": "code", "signature": "", "initial": ""}
    module = recorded(parameters=[
        {**fields, "name": "a"}, {**fields, "name": "b", "description": "The rule"},
        {**fields, "name": "c", "description": "The rule", "signature": "def f(x)"},
    ])  # fmt: skip
    assert [module.describe(name) for name in "abc"] == [
        "the parameter `a` of kind code", "The rule", "The rule; it must define `def f(x)`",
    ]  # fmt: skip


def test_a_program_asks_with_what_was_given_and_ends_where_nothing_is_left(recorded: Callable[..., Any]) -> None:
    module = recorded(told(calls=(*told().calls, Call("", {"content": None}, "stop"), Call("", {}, "", error="busy"))))
    assert module.ask("to 2", temperature=None) == ["x=2"]
    assert module.ask(message("to 1"), n=2) == ["x=1", ""]
    with pytest.raises(RuntimeError, match=r"status 500: .*busy"):
        module.ask("so")
    with pytest.raises(module.Left, match="once more than the job did"):
        module.ask("so")
    assert not issubclass(module.Left, Exception)


def test_what_could_not_be_measured_is_below_all_that_was(recorded: Callable[..., Any]) -> None:
    def one(score: float | None, status: str) -> tuple[Measured, ...]:
        return (Measured(score, status, "", {}),)

    lost, low = "not_measured", -3.0
    places = {
        (KEYS[0], "a"): one(None, lost), (KEYS[0], "b"): one(5.0, "ok"), (KEYS[0], "c"): one(low, "ok"), (KEYS[0], "d"): one(None, lost),
        (KEYS[0], "e"): one(-9.0, "invalid"), (KEYS[0], "f"): one(-9.0, "invalid"), (KEYS[0], "g"): one(4.0, "ok"),
    }  # fmt: skip
    module = recorded(told(results=places))

    def measure(*examples: str) -> list[float]:
        return [found.score for found in module.measure(module.initial, examples)]

    assert measure("a") == [-1.0]
    assert measure("b", "c") == [5.0, low]
    assert measure("d") == [low - 1]
    assert measure("e") == [-9.0]
    assert measure("g", "f") == [4.0, low - 1]
    assert module.answering.ours >= {"tracebench_core"}


def test_feedback_that_says_nothing_tells_the_score(recorded: Callable[..., Any]) -> None:
    places = {(KEYS[0], "a"): (Measured(0.25, "ok", "", {}),), (KEYS[0], "b"): (Measured(0.25, "ok", "so", {}),)}
    found = recorded(told(results=places)).measure({"x": 0}, ["a", "b"])
    assert [one.feedback for one in found] == ["The score is 0.25.", "so"]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1.0}, True), ({"a": " x\n"}, {"a": "x"}, True),
        ({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2.0}]}, True),
        ({"a": True}, {"a": 1}, False), ({"a": "1"}, {"a": 1}, False), ({"a": "x y"}, {"a": "xy"}, False), ({"a": None}, {"a": 0}, False),
    ],
)  # fmt: skip
def test_equal_values_have_one_key(one: Any, other: Any, alike: bool) -> None:
    assert (key_of(one) == key_of(other)) is alike


def test_what_two_collections_share_counts_as_often_as_both_hold_it() -> None:
    assert shared(("a", "a", "b", "c"), ("a", "a", "a", "c")) == 3
    assert shared((), ("a",)) == 0


def test_only_a_trainer_that_names_a_twin_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def make(settings: Any, parameters: Any) -> Twin:
        made.append((settings, parameters))
        return WITHOUT

    module = SimpleNamespace(make=make, Settings=lambda **given: ("settings", given))
    monkeypatch.setitem(sys.modules, "twins_of_this_test", module)  # type: ignore[arg-type]  # has what is looked up
    spec = {"name": "Climber", "title": "C", "loader": "x:y"}

    def offering(**fields: Any) -> Any:
        return SimpleNamespace(component=lambda _kind, _name: TrainerSpec.model_validate({**spec, **fields}))

    with pytest.raises(NotApplicableError, match="`Climber` declares no twin") as caught:
        twin_of(offering(), JOB, [])
    assert caught.value.hint == "trace-bench list-trainers"
    assert twin_of(offering(twin="twins_of_this_test:make"), JOB, []) is WITHOUT
    assert (
        twin_of(offering(twin="twins_of_this_test:make", settings="twins_of_this_test:Settings"), JOB, ["p"]) is WITHOUT
    )  # type: ignore[list-item]
    assert made == [({"depth": 2}, []), (("settings", {"depth": 2}), ["p"])]


def test_a_job_that_has_not_trained_to_its_end_is_refused(tmp_path: Path) -> None:
    from tracebench_runs.reading.reader import load_run

    run = load_run(finish_run(tmp_path / "run").path)
    with pytest.raises(RunDirError, match=r"has not trained to its end: it is `ok`\.$") as caught:
        read_told(run, run.planned[0])
    assert caught.value.hint == f"trace-bench resume {tmp_path}/run"


def request(text: str, job_id: str, occurrence: int = 0, role: Any = "optimizer") -> ChatRequest:
    identity = ModelIdentity(provider="p", model="m")
    return ChatRequest(job_id, 1, role, identity, message(text), {}, digest=text, occurrence=occurrence)


def test_a_job_is_read_as_it_was_answered_the_last_time(tmp_path: Path) -> None:
    job = JOB
    ended = TrainingEnded(status="ok", stop_reason="budget:evaluations", used=BudgetState(), seconds=9.0)
    events = [
        started(job, worst_score=-5.0), candidate("c0"), candidate("c1", values={"x": 1.50}), candidate("c2", values={"x": 2}),
        evaluation("c0", score=0.5, seconds=2.0, feedback="f", metrics={"m": 1.0}), evaluation("c1", score=0.75, seconds=0.5),
        evaluation("c2", status="not_measured", score=0.0, seconds=4.0, reused=True), evaluation("c2", by="engine"),
        call(seconds=1.5), call(call=1, seconds=2.5), call(call=2, phase="scoring", seconds=8.0), ended,
    ]  # fmt: skip
    recorder = Recorder(tmp_path / "llm")
    metered = Metered(Tokens(1, 1), None)
    for text, job_id, role in (
        ("one", job.job_id, "optimizer"),
        ("two", job.job_id, "judge"),
        ("three", "other", "optimizer"),
    ):
        recorder.keep(request(text, job_id, role=role), Reply({"content": "first"}, "stop", metered=metered), metered)
    recorder.keep(request("one", job.job_id), Reply({"content": "last"}, "length", metered=metered), metered)
    recorder.keep(request("one", job.job_id, 1), ProviderError("busy", kind="server"), metered)
    run: Any = SimpleNamespace(
        events=lambda _id: events, layout=SimpleNamespace(path=tmp_path),
        candidates_of=lambda _id: [SimpleNamespace(id=f"c{n}", values={"x": x}) for n, x in enumerate((1.5, 1.5, 2))],
    )  # fmt: skip
    found = read_told(run, job)
    prompt = prompt_of(message("one"))
    assert found.calls == (Call(prompt, {"content": "last"}, "length"), Call(prompt, {}, "", error="busy"))
    same, other = key_of({"x": 1.5}), key_of({"x": 2})
    assert dict(found.candidates) == {same: "c0", other: "c2"}
    assert found.measured == ((same, "e0"), (same, "e0"), (other, "e0"))
    assert dict(found.results) == {
        (same, "e0"): (Measured(0.5, "ok", "f", {"m": 1.0}), Measured(0.75, "ok", "", {})),
        (other, "e0"): (Measured(-5.0, "not_measured", "", {}),),
    }
    assert (found.is_cut, found.seconds, found.waited, found.measuring) == (True, 9.0, 4.0, 2.5)
    events[-1:] = [ended.model_copy(update={"stop_reason": "completed"})]
    events[8:10] = []
    again = read_told(run, job)
    assert (again.is_cut, again.calls, again.waited) == (False, (), 0)
    run.results = {job.job_id: SimpleNamespace(status="unscored")}
    for status in ("failed", "timeout"):
        events[-1:] = [ended.model_copy(update={"status": status})]
        with pytest.raises(RunDirError, match="it is `unscored`"):
            read_told(run, job)
