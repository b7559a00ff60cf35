"""The one road to a measurement: folders, failures judged by the control, reuse, batches, several under way."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.whole import one_in

from tracebench_core.contracts import Context, EvaluationFailed, NotMeasured, Sandbox
from tracebench_core.errors import BrokenTaskError, ModelError
from tracebench_core.specs import Candidate, Completion, Example, ExampleResult, Feedback, Parameter, TaskSpec, Values
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_engine.measure.context import EvaluationContext, Shared, evaluation_name
from tracebench_engine.measure.models import NoModels
from tracebench_engine.measure.service import EvaluationService

X = Parameter(name="x", initial=0.0, kind="number", maximum=9)
INITIAL = Candidate(id="c0", values={"x": 0.0})
OTHER = Candidate(id="c1", values={"x": 1.0})
Program = Callable[[Values, Example, Context], Any]


class Judge(NoModels):
    """A model that says who asked it."""

    def complete(self, messages: Any, *, role: Any, phase: Any = "training", n: int = 1, **_: Any) -> list[Completion]:
        return [Completion(text=f"{role} {phase}", model="m")] * n


def service(
    program: Program,
    folder: Path,
    *,
    guide: Callable[..., Feedback] | None = None,
    workers: int = 1,
    run_batch: Any = None,
    parameter: Parameter = X,
    **fields: Any,
) -> EvaluationService:
    def plain(_example: Example, output: Any, _context: Context) -> Feedback:
        return Feedback(score=float(output))

    task: Any = SimpleTask([parameter], "Up.", program, guide or plain)
    if run_batch is not None:
        task = SimpleNamespace(**vars(task), run=task.run, run_batch=run_batch)
    sandbox: Sandbox = None  # type: ignore[assignment]  # none of these programs asks for it
    shared = Shared(Judge(), sandbox, workdir=folder / "work", artifacts=folder / "artifacts")
    spec = TaskSpec(name="t", loader="t:t", title="t", **fields)
    return EvaluationService(task, task.guide, shared, spec=spec, initial=INITIAL, seed=0, workers=workers)


def measure(
    service: EvaluationService, candidate: Candidate, *examples: str, repeat: bool = False
) -> list[ExampleResult]:
    works = [(Example(id=name), "train") for name in examples or ("e",)]
    return [r.result() for r in service.begin(candidate, works, phase="training", repeat=repeat)]  # type: ignore[arg-type]  # a split


def test_each_evaluation_has_a_folder_of_its_own_that_is_gone_afterwards(tmp_path: Path) -> None:
    together = threading.Barrier(4)

    def program(values: Values, example: Example, context: Context) -> float:
        (context.workdir / "note").write_text(example.id)
        together.wait(30)
        return float((context.workdir / "note").read_text().removeprefix("e"))

    tried = service(program, tmp_path, workers=4)
    scores = [r.feedback.score for r in measure(tried, OTHER, "e0", "e1", "e2", "e3")]

    assert scores == [0, 1, 2, 3]
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("batch", [False, True])
def test_a_program_may_change_the_values_it_is_given_at_any_depth(tmp_path: Path, batch: bool) -> None:
    values: Values = {"x": [{"inner": [1]}, [2]]}
    candidate = Candidate(id="c1", values=values)

    def program(given: Any, _example: Example, _context: Context) -> float:
        total = float(given["x"][0]["inner"][0] + given["x"][1][0])
        given["x"][0]["inner"][0] = given["x"][1][0] = 100
        given["x"][0]["new"] = given["new"] = 1
        return total

    def run_batch(given: Any, examples: Sequence[Example], contexts: Sequence[Context]) -> list[float]:
        return [program(given, examples[0], contexts[0])] * len(examples)

    parameter = Parameter(name="x", initial=[], kind="json")
    tried = service(program, tmp_path, parameter=parameter, run_batch=run_batch if batch else None)

    assert [r.feedback.score for _ in range(2) for r in measure(tried, candidate, "e0", "e1")] == [3.0] * 4
    assert candidate.values == {"x": [{"inner": [1]}, [2]]}


def test_artifacts_are_kept_under_safe_and_distinct_names(tmp_path: Path) -> None:
    def program(values: Values, example: Example, context: Context) -> float:
        (context.artifacts / "log").write_text("kept")
        return 1.0

    measure(service(program, tmp_path), OTHER, "../a/b", "..-a-b", "x" * 300)

    assert len(list((tmp_path / "artifacts").glob("*/log"))) == 3
    assert evaluation_name("c1", "e", phase="scoring", repeat=2) == "scoring-c1-e.2"


def test_a_guide_asks_the_judge(tmp_path: Path) -> None:
    def guide(_example: Example, _output: Any, context: Context) -> Feedback:
        return Feedback(score=1.0, text=context.complete([{"role": "user", "content": "?"}], role="judge")[0].text)

    assert measure(service(lambda *_: 0, tmp_path, guide=guide), OTHER)[0].feedback.text == "judge training"


@pytest.mark.parametrize(
    "error", [ModelError("filtered", kind="request"), ValueError("bad"), NotMeasured("agent broke", suspect=True)]
)
def test_what_repeats_for_a_candidate_where_the_initial_one_measures_is_its_failure(
    tmp_path: Path, error: Exception
) -> None:
    attempts: Counter[str] = Counter()

    def program(values: Values, _example: Example, context: Context) -> float:
        attempts[context.candidate] += 1
        if values["x"]:
            raise error
        return 0.5

    feedback = measure(service(program, tmp_path, worst_score=-1.0), OTHER)[0].feedback

    assert (feedback.status, feedback.score) == ("invalid", -1.0)
    assert attempts == {"c1": 2, "c0": 1}


def test_where_the_initial_candidate_does_not_measure_either_nothing_was_measured(tmp_path: Path) -> None:
    def program(*_: Any) -> float:
        raise ModelError("filtered", kind="request")

    tried = service(program, tmp_path, worst_score=-1.0)

    assert measure(tried, OTHER)[0].feedback.status == "not_measured"
    assert measure(tried, INITIAL)[0].feedback.status == "not_measured"


def test_infrastructure_is_tried_again_and_never_a_zero(tmp_path: Path) -> None:
    attempts = iter([NotMeasured("gone"), 3.0, NotMeasured("gone for good", retry=False)])

    def program(*_: Any) -> float:
        outcome = next(attempts)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    tried = service(program, tmp_path, worst_score=0.0)

    assert measure(tried, OTHER)[0].feedback.score == 3.0
    assert measure(tried, OTHER, "f")[0].feedback.status == "not_measured"


@pytest.mark.parametrize("answer", [None, 1.0, {"score": float("nan")}, {"score": 1, "sore": 2}])
def test_a_guide_that_breaks_its_contract_on_the_initial_candidate_breaks_the_task(tmp_path: Path, answer: Any) -> None:
    tried = service(lambda *_: 0, tmp_path, guide=lambda *_: answer)

    with pytest.raises(BrokenTaskError, match="on its own initial candidate, on example `e`"):
        measure(tried, OTHER)
    assert tried.broken is not None


def test_a_task_says_itself_what_a_failure_is_and_it_counts_as_the_worst(tmp_path: Path) -> None:
    def program(*_: Any) -> float:
        raise EvaluationFailed(Feedback(score=99.0, status="timeout", text="too slow"))

    feedback = measure(service(program, tmp_path, worst_score=-2.0), OTHER)[0].feedback

    assert (feedback.status, feedback.score, feedback.text) == ("timeout", -2.0, "too slow")


def test_deterministic_measurements_are_used_again_unless_asked_anew_or_a_model_was_asked(tmp_path: Path) -> None:
    made: Counter[str] = Counter()

    def program(_values: Values, example: Example, context: Context) -> float:
        made[example.id] += 1
        if example.id == "asks":
            context.complete([])
        return 1.0

    tried = service(program, tmp_path, deterministic=True)
    marks = [measure(tried, OTHER, name)[0].reused for name in ("e", "e", "asks", "asks")]
    measure(tried, OTHER, "e", repeat=True)

    assert marks == [False, True, False, False]
    assert made == {"e": 2, "asks": 2}


def test_one_launch_serves_a_batch_and_failures_stay_with_their_examples(tmp_path: Path) -> None:
    launches: list[list[str]] = []

    def run_batch(values: Values, examples: Sequence[Example], contexts: Sequence[EvaluationContext]) -> list[Any]:
        launches.append([example.id for example in examples])
        return [1.0, EvaluationFailed(Feedback(score=0.0, status="invalid", text="no")), 3.0]

    results = measure(service(lambda *_: 0.0, tmp_path, run_batch=run_batch), OTHER, "a", "b", "c")

    assert [r.feedback.status for r in results] == ["ok", "invalid", "ok"]
    assert launches == [["a", "b", "c"]]


def test_values_out_of_bounds_are_invalid_without_being_run(tmp_path: Path) -> None:
    def program(*_: Any) -> float:
        raise AssertionError

    wild = Candidate(id="c2", values={"x": 10.0})

    assert measure(service(program, tmp_path), wild)[0].feedback.status == "invalid"


def test_a_task_limits_how_many_evaluations_run_at_a_time(tmp_path: Path) -> None:
    running, most = [0], [0]
    lock = threading.Lock()

    def program(*_: Any) -> float:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.01)
        with lock:
            running[0] -= 1
        return 1.0

    measure(service(program, tmp_path, workers=8, concurrency=2), OTHER, *(f"e{i}" for i in range(8)))

    assert most[0] == 2


def test_an_evaluation_is_ended_when_its_time_is_over_and_costs_the_candidate_alone(tmp_path: Path) -> None:
    ended: list[str] = []

    def program(values: Values, _example: Example, context: Context) -> float:
        if not values["x"]:
            return 0.5
        try:
            while True:
                context.activity("turning")
        finally:
            ended.append(context.candidate)

    tried = service(program, tmp_path, worst_score=-1.0, evaluation_timeout=1.0)
    feedback = measure(tried, OTHER)[0].feedback

    assert (feedback.status, feedback.score) == ("timeout", -1.0)
    assert "longer than 1 s" in feedback.text
    assert ended == ["c1"]
    assert measure(tried, INITIAL)[0].feedback.score == 0.5


@pytest.mark.parametrize("how", one_in(2, ["sleeps in C", "swallows everything"]))
def test_an_evaluation_that_cannot_be_interrupted_is_left_behind_and_shut_out(tmp_path: Path, how: str) -> None:
    let_go = threading.Event()
    refused: list[str] = []

    def program(values: Values, _example: Example, context: Context) -> float:
        if not values["x"]:
            return 0.5
        while how == "swallows everything" and not refused:
            try:
                context.record("late", {})
                time.sleep(0.01)
            except BaseException as err:  # noqa: BLE001 - that is what it does
                refused.append(type(err).__name__)
        let_go.wait(5)
        return 9.0

    tried = service(program, tmp_path, worst_score=-1.0, evaluation_timeout=1.0)
    feedback = measure(tried, OTHER)[0].feedback
    let_go.set()

    assert (feedback.status, feedback.score) == ("timeout", -1.0)
    assert refused in ([], ["OutOfTime"])


def test_a_task_that_minds_its_deadline_says_itself_what_became_of_the_evaluation(tmp_path: Path) -> None:
    def program(_values: Values, _example: Example, context: Context) -> float:
        while (context.deadline or 0.0) > 0:
            time.sleep(0.01)
        raise EvaluationFailed(Feedback(score=0.0, status="timeout", text="mine"))

    feedback = measure(service(program, tmp_path, worst_score=-1.0, evaluation_timeout=1.0), OTHER)[0].feedback

    assert (feedback.status, feedback.text) == ("timeout", "mine")


def test_an_initial_candidate_that_takes_too_long_is_not_measured(tmp_path: Path) -> None:
    def program(*_: Any) -> float:
        time.sleep(5)
        return 1.0

    assert measure(service(program, tmp_path, evaluation_timeout=0.1), INITIAL)[0].feedback.status == "not_measured"


def test_a_batch_is_ended_after_as_long_as_its_examples_might_take(tmp_path: Path) -> None:
    def run_batch(values: Values, examples: Sequence[Example], _contexts: Sequence[Context]) -> list[float]:
        while values["x"]:
            time.sleep(0.01)
        return [0.5] * len(examples)

    tried = service(lambda *_: 0.5, tmp_path, run_batch=run_batch, worst_score=-1.0, evaluation_timeout=0.5)

    assert [r.feedback.status for r in measure(tried, OTHER, "a", "b")] == ["timeout", "timeout"]
