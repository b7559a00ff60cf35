"""What every trainer must do, as functions with codes. Each runs the trainer in trials and returns what it found wrong.

| code | a trainer |
|---|---|
| TB201 | stays within its budget on every axis |
| TB202 | never meets a test example |
| TB203 | improves the numeric toy over NoOp within 60 evaluations |
| TB204 | improves the code toy over NoOp within 60 evaluations |
| TB205 | does the same again for the same seed and the same replies |
| TB206 | survives a model that returns rubbish |
| TB207 | survives a model that refuses, and stops asking |
| TB208 | survives a model that dies half-way, and keeps what it had |
| TB209 | measures its best candidate on all of validation |
| TB210 | handles one and five parameters |
| TB211 | handles one and 500 examples |
| TB212 | marks its steps |
| TB213 | does the same whether evaluations run in parallel or not |
| TB214 | ends when every evaluation fails, without raising |
| TB215 | goes on with what measured better, where that decides what it finds |
| TB216 | loses nothing that it has found: neither by going on, nor by a larger budget |
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from tracebench_core.contracts import Context, NotMeasured, Trainer
from tracebench_core.errors import ModelError
from tracebench_core.specs import Budget, Example, Feedback
from tracebench_engine.api.checking import Finding
from tracebench_testing.answering import Answer
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import Toy, build_code, build_dials, build_number
from tracebench_testing.trials import BuildOptimizer, Trial, run_trial
from tracebench_testing.winning import thrown_away, worse_later, worse_with_more

TRUE = "true"
"""The metric that holds the true score, whatever score is shown."""
Show = Callable[[float], float]


def _shuffled(score: float) -> float:
    """Return a number that depends on a score and says nothing of it."""
    return int.from_bytes(hashlib.sha256(f"{score:.6f}".encode()).digest()[:4], "big") / 2**32


SHOWN: Mapping[str, Show] = {"true": lambda score: score, "reversed": lambda score: -score, "shuffled": _shuffled}


def build_field(shown: str) -> Toy:
    """Return four dials of which a call turns one, as often the wrong way as the right way; `shown`: a key of `SHOWN`."""
    toy = build_dials(train=4, validation=4, stride=1.0)
    show, judge = SHOWN[shown], toy.task.guide

    def guide(example: Example, output: Any, context: Context) -> Feedback:
        found = judge(example, output, context)
        return found.model_copy(update={"score": show(found.score), "text": "", "metrics": {TRUE: found.score}})

    return replace(toy, name=f"field-{shown}", task=replace(toy.task, guide=guide))


def reached(trial: Trial) -> float | None:
    """Return the mean true score of the second half of a trial's evaluations; None when it made none."""
    found = [evaluation.metrics[TRUE] for evaluation in trial.evaluations if TRUE in evaluation.metrics]
    return fmean(found[len(found) // 2 :]) if found else None


TOY_BUDGET = Budget(evaluations=60)
AMPLE = Budget(evaluations=400, llm_calls=400)
SEEDS = (0, 1, 2)
FIELD_BUDGET = Budget(evaluations=200, llm_calls=200)
LAW_BUDGETS = (9, 20, 45, 100)
ONE_TURN = 0.25
"""What one turn of one of four dials is worth on the field of selection."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A trainer under test."""

    build: Callable[[], Trainer]
    """Returns a new trainer each time."""
    optimizer: BuildOptimizer | None = None
    """Builds its proposer; `Reflective` by default."""
    improves: bool = True
    """False for a baseline that does not search: it need not improve."""

    def on(
        self, toy: Toy, *, answer: Answer | None = None, budget: Budget = AMPLE, seed: int = 0, workers: int = 1
    ) -> Trial:
        """Run one trial, with the toy's teacher unless another answer is given."""
        return run_trial(
            self.build(),
            toy,
            answer=answer or Teacher(toy.lesson, improves=0.7, harms=0.2, seed=seed),
            budget=budget,
            seed=seed,
            workers=workers,
            optimizer=self.optimizer,
        )


Check = Callable[[Subject], list[Finding]]


def check_budget(subject: Subject) -> list[Finding]:
    """TB201: stays within its budget on every axis; tokens and USD may be passed by the one call that was under way."""
    toy = build_dials()
    caps = [
        Budget(evaluations=25),
        Budget(evaluations=1),
        Budget(llm_calls=4, evaluations=300),
        Budget(tokens=5_000, evaluations=300),
        Budget(usd=0.005, evaluations=300),
        Budget(seconds=0.2),
    ]
    found = []
    for budget in caps:
        trial = subject.on(toy, budget=budget)
        found += _unexpected_end("TB201", trial, f"under {budget.caps()}")
        if len(trial.evaluations) > (budget.evaluations or len(trial.evaluations)):
            found.append(Finding("TB201", f"made {len(trial.evaluations)} evaluations under {budget.caps()}"))
        if budget.llm_calls is not None and trial.used.llm_calls > budget.llm_calls:
            found.append(Finding("TB201", f"made {trial.used.llm_calls} model calls under {budget.caps()}"))
    return found


def check_test_split(subject: Subject) -> list[Finding]:
    """TB202: never meets a test example."""
    trial = subject.on(build_dials(), budget=TOY_BUDGET)
    met = {e.example for e in trial.evaluations if e.split == "test"}
    return [Finding("TB202", f"evaluated the test examples {sorted(met)}")] if met else []


def check_numeric_toy(subject: Subject) -> list[Finding]:
    """TB203: improves the numeric toy within 60 evaluations."""
    return _improves("TB203", subject, build_number())


def check_code_toy(subject: Subject) -> list[Finding]:
    """TB204: improves the code toy within 60 evaluations."""
    return _improves("TB204", subject, build_code())


def check_repeatable(subject: Subject) -> list[Finding]:
    """TB205: the same seed and the same replies give the same events."""
    toy = build_dials(noise=0.2)
    first, second = (subject.on(toy, budget=Budget(evaluations=120), seed=5) for _ in range(2))
    return _differences("TB205", first, second, "two runs with one seed")


def check_rubbish(subject: Subject) -> list[Finding]:
    """TB206: survives a model that returns rubbish."""
    replies = (
        "",
        "{",
        "I would rather not.",
        '{"values": [1, 2]}',
        '{"values": {"nobody": 1, "dial_0": "NaN"}}',
        "\x00" * 40,
    )
    trial = subject.on(build_dials(), answer=lambda _, call: replies[call % len(replies)])
    return _unexpected_end("TB206", trial, "on rubbish")


def check_refusal(subject: Subject) -> list[Finding]:
    """TB207: survives a model that refuses, and stops asking."""
    return _survives("TB207", subject, working_calls=0)


def check_death(subject: Subject) -> list[Finding]:
    """TB208: survives a model that dies half-way, and keeps what it had."""
    return _survives("TB208", subject, working_calls=20)


def check_best_measured(subject: Subject) -> list[Finding]:
    """TB209: measures its best candidate on all of validation."""
    toy = build_dials()
    trial = subject.on(toy, budget=Budget(evaluations=300))
    wanted = {e.id for e in toy.task.splits["validation"]}
    missing = wanted - {e.example for e in trial.evaluations if e.candidate == trial.best.id}
    if not missing or not subject.improves:
        return []
    return [Finding("TB209", f"its best candidate {trial.best.id} was not measured on {sorted(missing)}")]


def check_parameters(subject: Subject) -> list[Finding]:
    """TB210: handles one and five parameters."""
    return [f for n in (1, 5) for f in _handles("TB210", subject, build_dials(parameters=n), f"with {n} parameters")]


def check_examples(subject: Subject) -> list[Finding]:
    """TB211: handles one and 500 examples, with and without a validation split."""
    sizes = ((1, 0), (1, 1), (500, 0), (500, 100))
    return [
        f
        for train, validation in sizes
        for f in _handles(
            "TB211",
            subject,
            build_dials(train=train, validation=validation),
            f"with {train} examples of train and {validation} of validation",
        )
    ]


def check_steps(subject: Subject) -> list[Finding]:
    """TB212: marks its steps."""
    trial = subject.on(build_dials(), budget=TOY_BUDGET)
    return [] if trial.steps else [Finding("TB212", "marked no step: wrap each one in `with problem.step():`")]


def check_parallel(subject: Subject) -> list[Finding]:
    """TB213: does the same whether evaluations run in parallel or not."""
    toy = build_dials()
    one, four = (subject.on(toy, budget=Budget(llm_calls=20), workers=n) for n in (1, 4))
    return _differences("TB213", one, four, "one and four evaluations at a time")


def check_failing_task(subject: Subject) -> list[Finding]:
    """TB214: ends when every evaluation fails, without raising."""
    trial = subject.on(_broken(build_dials()), budget=Budget(evaluations=100, llm_calls=100))
    return _unexpected_end("TB214", trial, "when every evaluation fails")


def check_selection(subject: Subject) -> list[Finding]:
    """TB215: goes on with what measured better, where that decides what it finds.

    True scores must lead it no lower than reversed or shuffled ones.
    """
    if not subject.improves:
        return []
    led: dict[str, float] = {}
    for shown in SHOWN:
        toy = build_field(shown)
        trials = (
            subject.on(toy, answer=Teacher(toy.lesson, 0.45, 0.45, seed), budget=FIELD_BUDGET, seed=seed)
            for seed in SEEDS
        )
        means = [mean for trial in trials if (mean := reached(trial)) is not None]
        if not means:
            return []
        led[shown] = fmean(means)
    return [
        Finding("TB215", f"got to {led['true']:.3g} led by true scores, and to {led[shown]:.3g} led by {shown} ones")
        for shown in ("reversed", "shuffled")
        if led[shown] > led["true"] + ONE_TURN
    ]


def check_winner(subject: Subject) -> list[Finding]:
    """TB216: loses nothing that it has found: neither by going on, nor by a larger budget.

    On a task without chance whose examples order candidates alike, no later winner is worth less than an earlier one. On any task the
    winner is no worse, on what decides, than the best that was measured on all of train or on all of validation.
    """
    alike = build_dials(parameters=1, train=3, validation=4)
    trials = [subject.on(alike, budget=Budget(evaluations=n)) for n in LAW_BUDGETS]
    said = [worse_later(trial.events) for trial in trials]
    said += [worse_with_more(short, long) for short, long in pairwise(trials)]
    for n in LAW_BUDGETS:
        trial = subject.on(build_dials(parameters=3, train=3, validation=5), budget=Budget(evaluations=n), seed=n)
        said += [thrown_away(trial.events)] if trial.error is None else []
    return [Finding("TB216", words) for words in said if words]


TRAINER_CHECKS: dict[str, Check] = {
    "TB201": check_budget,
    "TB202": check_test_split,
    "TB203": check_numeric_toy,
    "TB204": check_code_toy,
    "TB205": check_repeatable,
    "TB206": check_rubbish,
    "TB207": check_refusal,
    "TB208": check_death,
    "TB209": check_best_measured,
    "TB210": check_parameters,
    "TB211": check_examples,
    "TB212": check_steps,
    "TB213": check_parallel,
    "TB214": check_failing_task,
    "TB215": check_selection,
    "TB216": check_winner,
}


def check_trainer(subject: Subject) -> Iterator[Finding]:
    """Run all checks, and yield what they find as they find it."""
    for check in TRAINER_CHECKS.values():
        yield from check(subject)


def _improves(code: str, subject: Subject, toy: Toy) -> list[Finding]:
    if not subject.improves:
        return []
    trials = [subject.on(toy, budget=TOY_BUDGET, seed=seed) for seed in SEEDS]
    found = [f for trial in trials for f in _unexpected_end(code, trial, f"on {toy.name}")]
    gains = [trial.gain() for trial in trials]
    if any(gain <= 0 for gain in gains):
        words = ", ".join(f"{gain:+.3g}" for gain in gains)
        found.append(Finding(code, f"did not improve the toy `{toy.name}` for every seed: {words}"))
    return found


def _survives(code: str, subject: Subject, *, working_calls: int) -> list[Finding]:
    toy = build_dials()
    teacher = Teacher(toy.lesson, improves=1.0, harms=0.0)

    def answer(prompt: str, call: int) -> str:
        if call >= working_calls:
            raise ModelError("the model is gone", kind="server", status_code=500)
        return teacher(prompt, call)

    trial = subject.on(toy, answer=answer)
    found = [] if isinstance(trial.error, ModelError) else _unexpected_end(code, trial, "when the model failed")
    if subject.improves and working_calls and trial.gain() <= 0:
        found.append(Finding(code, "lost what it had found before the model died"))
    return found


def _handles(code: str, subject: Subject, toy: Toy, when: str) -> list[Finding]:
    trial = subject.on(toy, budget=Budget(evaluations=200))
    found = _unexpected_end(code, trial, when)
    if subject.improves and len(trial.candidates) < 2:  # noqa: PLR2004 - the initial candidate is the first
        found.append(Finding(code, f"tried no candidate {when}"))
    return found


def _unexpected_end(code: str, trial: Trial, when: str) -> list[Finding]:
    if trial.error is None:
        return []
    return [Finding(code, f"raised {type(trial.error).__name__} {when}: {trial.error}")]


def _differences(code: str, one: Trial, other: Trial, between: str) -> list[Finding]:
    first, second = one.comparable(), other.comparable()
    if first == second:
        return []
    place = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    return [Finding(code, f"differs between {between}, from event {place} on")]


def _broken(toy: Toy) -> Toy:
    """Return the toy with a guide that can never measure."""

    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        raise NotMeasured(f"no verdict on {output!r} for {example.id}", retry=False)

    return replace(toy, task=replace(toy.task, guide=guide))
