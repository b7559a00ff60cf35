"""The families in reserve are what they say: steps lead to the optimum and no farther, none is trivial or hopeless."""

from __future__ import annotations

import json
import random
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest
from tests.whole import cells

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.proposing.mutation import mutate
from tracebench_core.specs import Values
from tracebench_fields import releases
from tracebench_fields.drawing import draw
from tracebench_fields.families import FAMILIES
from tracebench_fields.families.expressions import LARGEST, BadExpressionError, meaning, value
from tracebench_fields.families.rules import Policy, Rule, read
from tracebench_fields.field import Case
from tracebench_fields.task import FieldOptions, FieldTask

RESERVE = [name for name, family in FAMILIES.items() if family.half == "reserve"]
FARTHEST = 40
"""Steps within which the scripted model's improvements reach the optimum of a medium field."""
HOPELESS = {"rules": 0.5, "ridge": 0.4, "gates": 0.5, "formula": 0.5, "jury": 0.5}


def made(family: str, size: str = "medium", **more: Any) -> FieldTask:
    return FieldTask(family, FieldOptions(size=size, **more))  # type: ignore[arg-type]


def truth(task: FieldTask, values: Values) -> float:
    """The mean score on test."""

    def score(example: Any) -> float:
        try:
            output = task.field.output(values, example.input, None)  # type: ignore[arg-type]  # none of them asks for a context
        except EvaluationFailed:
            return 0.0
        return task.field.verdict(Case(example.input, example.reference), output).score

    return fmean(map(score, task.splits["test"]))


def start(task: FieldTask) -> Values:
    return {p.name: p.initial for p in task.parameters}


def test_there_are_five_and_none_needs_the_sandbox() -> None:
    assert RESERVE == ["rules", "ridge", "gates", "formula", "jury"]
    assert all(FAMILIES[name].sandbox is None for name in RESERVE)


@pytest.mark.parametrize(
    ("family", "instance"), cells([(f, i) for f in RESERVE for i in range(8)], always=[(f, 0) for f in RESERVE])
)
def test_a_medium_field_is_neither_trivial_nor_hopeless(family: str, instance: int) -> None:
    task, rng = made(family, instance=instance), random.Random(instance)
    values, best = start(task), truth(task, task.field.optimum)
    initial = truth(task, values)
    assert best == 1.0
    assert initial <= 0.42
    once = [truth(task, task.field.improve(values, rng)) for _ in range(12)]
    assert max(once) < 0.9
    reached = [initial]
    for _ in range(FARTHEST):
        values = task.field.improve(values, rng)
        reached.append(truth(task, values))
    assert max(reached) <= best
    assert reached[-1] > 0.97
    assert max(reached[:4]) < 0.97
    assert max(reached[:16]) > HOPELESS[family]


@pytest.mark.parametrize(
    ("family", "size"),
    cells([(f, s) for f in RESERVE for s in ("small", "medium", "large")], always=[(f, "medium") for f in RESERVE]),
)
def test_every_field_starts_low_and_ends_at_one(family: str, size: str) -> None:
    for instance in range(10):
        for deception in (0.0, 1.0):
            task = made(family, size, instance=instance, deception=deception, num_test=60)
            assert truth(task, start(task)) < 0.5
            assert truth(task, task.field.optimum) == 1.0


@pytest.mark.parametrize("family", RESERVE)
def test_harm_lowers_the_optimum_and_is_undone(family: str) -> None:
    task, rng = made(family, deception=1.0), random.Random(5)
    for _ in range(25):
        harmed = task.field.harm(task.field.optimum, rng)
        assert truth(task, harmed) < 1.0
        for _ in range(12):
            harmed = task.field.improve(harmed, rng)
        assert truth(task, harmed) > 0.97


@pytest.mark.parametrize("family", RESERVE)
def test_a_field_follows_from_its_secret_alone(family: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(releases.FOLDER, str(tmp_path))
    (tmp_path / "spring.secret").write_text("a")
    (tmp_path / "autumn.secret").write_text("b")

    def drawn(release: str) -> tuple[str, str]:
        draw.cache_clear()
        task = made(family, release=release)
        rng, steps = random.Random(1), [start(task)]
        for _ in range(8):
            steps.append((task.field.improve if rng.random() < 0.6 else task.field.harm)(steps[-1], rng))
        return json.dumps(task.field.optimum), repr((steps, task.splits))

    assert drawn("spring") == drawn("spring")
    assert drawn("spring")[0] != drawn("autumn")[0]


@pytest.mark.parametrize("family", RESERVE)
def test_no_example_holds_the_optimum(family: str) -> None:
    for instance in range(3):
        task = made(family, instance=instance)
        best = [str(best) for best in task.field.optimum.values()]
        shown = [task.objective, *(p.description for p in task.parameters)]
        for split in task.splits:
            for e in task.splits[split]:
                output = task.field.output(start(task), e.input, None)  # type: ignore[arg-type]
                shown.append(f"{e.input} {e.reference} {task.field.verdict(Case(e.input, e.reference), output).text}")
        assert not [text for text in shown if all(word in text for word in best)]


@pytest.mark.parametrize("family", RESERVE)
def test_whatever_random_changes_make_can_be_judged_improved_and_harmed(family: str) -> None:
    task, rng = made(family), random.Random(3)
    hints = [p.model_dump(mode="json") for p in task.parameters]
    values, judged = start(task), 0
    for turn in range(60):
        hint = rng.choice(hints)
        values = {**values, hint["name"]: mutate(values[hint["name"]], rng, hint=hint)}
        example = task.splits["train"][turn % 40]
        try:
            output = task.field.output(values, example.input, None)  # type: ignore[arg-type]
            feedback = task.field.verdict(Case(example.input, example.reference), output)
            assert 0.0 <= feedback.score <= 1.0
            judged += 1
        except EvaluationFailed:
            assert family in {"formula", "rules"}  # texts that may hold nothing
        for step in (task.field.improve, task.field.harm):
            changed = step(values, rng)
            assert set(changed) == set(values)
            assert all(isinstance(changed[p.name], type(p.initial)) or p.kind == "number" for p in task.parameters)
    assert judged > 20


@pytest.mark.parametrize("family", ["ridge", "gates"])
def test_of_some_parameters_no_other_is_changed(family: str) -> None:
    field, rng = made(family).field, random.Random(0)
    names = [p.name for p in field.parameters]
    for kept in (names[1:], names[:1], names[-1:]):
        better: Values = {p.name: p.initial for p in field.parameters if p.name in kept}
        for _ in range(30):
            better = field.improve(better, rng)
            assert set(better) == set(field.harm(better, rng)) == set(kept)


def test_the_order_of_rules_decides_and_train_can_hide_it() -> None:
    broad, narrow = (
        Rule((("topic", "billing"),), "close"),
        Rule((("topic", "billing"), ("urgency", "high")), "escalate"),
    )
    text = "if urgency is high and topic is billing, escalate.\nPlease. IF topic is billing , close. Otherwise answer."
    policy = read(text)
    assert policy == Policy((narrow, broad), "answer")
    request = {"topic": "billing", "urgency": "high"}
    assert policy.decide(request) == ("escalate", 1)
    assert Policy((broad, narrow), None).decide(request) == ("close", 1)
    assert policy.decide({"topic": "account", "urgency": "high"}) == ("answer", 0)

    def backwards(split: str) -> float:
        """How right the best rules are from the last to the first."""
        best = read(str(task.field.optimum["policy"]))
        turned = best._replace(rules=best.rules[::-1])
        return fmean(turned.decide(e.input)[0] == e.reference for e in task.splits[split])  # type: ignore[index]

    task = made("rules", deception=1.0, num_train=400)
    assert backwards("train") == 1.0
    assert backwards("test") < 0.9


def test_a_false_key_lets_some_through_and_shuts_what_follows() -> None:
    task = made("gates", deception=0.5, num_test=4000)
    stage = task.field._stages[1]  # type: ignore[attr-defined]
    false = {stage.mode: stage.false.mode, stage.level: stage.false.level}
    initial = truth(task, start(task))
    assert truth(task, {**start(task), **false}) == pytest.approx(initial + 0.25 * 0.4, abs=0.02)
    assert truth(task, {**task.field.optimum, **false}) == pytest.approx(initial + 0.25 * 0.4, abs=0.02)
    later = {n: v for n, v in task.field.optimum.items() if not n.startswith(stage.name)}
    assert truth(task, {**start(task), **later}) == initial


def test_wrong_choices_widen_the_ridge_where_it_deceives() -> None:
    for deception, is_misled in ((0.0, False), (1.0, True)):
        field = made("ridge", deception=deception).field
        off: Any = field._moved(dict(field.optimum), "width", field._best["width"] + 0.5)  # type: ignore[attr-defined]
        worst = {**off, "schedule": field.parameters[-2].initial}
        assert (field._quality(worst) > field._quality(off)) == is_misled  # type: ignore[attr-defined]
        assert field._quality({**field.optimum, "schedule": worst["schedule"]}) < 0.9  # type: ignore[attr-defined]


def test_jurors_vary_by_temper_and_extremes_and_some_lie_outside_the_test() -> None:
    task = made("jury", deception=1.0, num_train=1000, num_validate=1000, num_test=1000)
    lies = {split: fmean(e.reference[1] for e in task.splits[split]) for split in task.splits}
    assert lies["test"] == 0.0
    assert lies["train"] == pytest.approx(0.4, abs=0.06)
    assert lies["validation"] == pytest.approx(0.4, abs=0.06)
    steady, erratic = Case("", (0.3, False, 0)), Case("", (2.5, False, 0))
    assert task.field.spread(steady, (2, 2, 2, 2)) < task.field.spread(steady, (0, 4, 2, 2))
    assert task.field.spread(erratic, (2, 2, 2, 2)) > 5 * task.field.spread(steady, (2, 2, 2, 2))

    def deviation(temper: float) -> float:
        """What the noise of a judge's grades comes to."""
        e = next(e for e in task.splits["train"] if e.reference[:2] == (temper, False))
        middle = (2,) * 4
        truth = task.field.verdict(Case(e.input, e.reference), middle).score
        return fmean(abs(task.guide(e, middle, SimpleNamespace(seed=i)).score - truth) for i in range(600))  # type: ignore[arg-type]

    assert deviation(2.5) > 3 * deviation(0.3)


@pytest.mark.parametrize(
    ("text", "comes_to"),
    [("3 * x - 2 * (y % 4)", 3), ("max(x, y, 9) // 2", 4), ("-abs(x - 8) + 1.5", -3.5), (" 2*x", 6)],
)
def test_an_expression_is_read(text: str, comes_to: float) -> None:
    meant = meaning(text, ("x", "y"))
    assert not isinstance(meant, BadExpressionError)
    assert value(meant, {"x": 3, "y": 7}) == comes_to


@pytest.mark.parametrize(
    "text",
    [
        "", "x +", "x y", "q", "x ** 2", "__import__('os')", "x.real", "abs(x, y)", "min(x)", "min(*[x, y])", "[x]", "True", "'x'",
        "lambda: x", "x / 0", "x % 0", "1e400", "x if x else y", "*".join(["12"] * 60), "1e9 * 1e9", "abs(" * 40 + "x" + ")" * 40,
        "-" * 300 + "x", "x\ny", "9" * 399, f"{LARGEST} + x", "x\0", "1e300 * 1e300 * 1e300", "abs(x=3)", "x := 3", "2j",
    ],
)  # fmt: skip
def test_what_is_no_expression_fails_with_words_and_runs_nothing(text: str) -> None:
    with pytest.raises(EvaluationFailed) as caught:
        made("formula").field.output({"formula": text}, {"x": 3, "y": 7, "z": 1}, None)  # type: ignore[arg-type]
    assert caught.value.feedback.status == "invalid"
    assert caught.value.feedback.text.startswith("`formula` fails: it") or "not allowed" in caught.value.feedback.text


def test_a_broken_formula_is_mended_in_one_step() -> None:
    field = made("formula", "large").field
    rng, broken = random.Random(2), 0
    for _ in range(60):
        harmed = field.harm(field.optimum, rng)
        try:
            field.output(harmed, {"x": 1, "y": 2, "z": 3}, None)  # type: ignore[arg-type]
        except EvaluationFailed:
            broken += 1
            field.output(field.improve(harmed, rng), {"x": 1, "y": 2, "z": 3}, None)  # type: ignore[arg-type]
    assert broken > 5
