"""What is said of a field is true of it: the best is the best, a step goes where it should, and only the secret decides the draw."""

from __future__ import annotations

import json
import random
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import pytest
from plugins.tracebench_fields.tests.test_walks import Here
from tests.whole import cells

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.errors import UsageError
from tracebench_fields import releases
from tracebench_fields.drawing import Drawing, draw, named_in
from tracebench_fields.families import FAMILIES
from tracebench_fields.field import Case, Field
from tracebench_fields.model import LOST, Script, quality_of
from tracebench_fields.task import FieldOptions, FieldTask

EVERY = [(family, size, deception) for family in FAMILIES for size, deception in (("small", 0.0), ("medium", 1.0))]


def truth(task: FieldTask, values: Any) -> float:
    """The mean score on test."""

    def score(example: Any) -> float:
        try:
            output = task.field.output(values, example.input, Here)  # type: ignore[arg-type]
        except EvaluationFailed:
            return 0.0
        return task.field.verdict(Case(example.input, example.reference), output).score

    return fmean(map(score, task.splits["test"]))


def made(family: str, size: str = "small", deception: float = 0.5, **more: Any) -> FieldTask:
    return FieldTask(family, FieldOptions(size=size, deception=deception, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(("family", "size", "deception"), cells(EVERY, always=EVERY[::5]))
def test_nothing_beats_the_optimum_and_steps_lead_to_it(family: str, size: str, deception: float) -> None:
    task, rng = made(family, size, deception), random.Random(0)
    best, values = truth(task, task.field.optimum), {p.name: p.initial for p in task.parameters}
    initial = truth(task, values)
    assert initial < best
    assert family == "conflict" or best == pytest.approx(1.0, abs=1e-9)
    reached = [initial]
    for _ in range(60):
        values = task.field.improve(values, rng)
        reached.append(truth(task, values))
    assert max(reached) <= best + (
        0.02 if family == "conflict" else 1e-9
    )  # its best is that of all examples, not of these 200
    assert max(reached) > initial + 0.7 * (best - initial)
    harmed = [truth(task, task.field.harm(task.field.optimum, rng)) for _ in range(20)]
    assert max(harmed) <= best + (0.02 if family == "conflict" else 1e-9)
    assert fmean(harmed) < best


@pytest.mark.parametrize("family", ["agents", "numbers", "costs"])
def test_of_some_parameters_no_other_is_changed(family: str) -> None:
    field, rng = made(family).field, random.Random(0)
    names = [p.name for p in field.parameters]
    some: Any = {p.name: p.initial for p in field.parameters[1:]}
    better = some
    for _ in range(30):
        better = field.improve(better, rng)
        assert set(better) == set(field.harm(better, rng)) == set(names[1:])
    assert better != some


def test_a_label_says_what_is_drawn_and_only_the_secret_what_comes_out(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Drawing("prompt", "open", 3, "small", 0.25)
    assert named_in(f"Improve.\n{one.label} Find …") == one
    assert named_in("Field nothing/open/0/small/0: x") is None
    assert draw(one).optimum != draw(Drawing("prompt", "open", 4, "small", 0.25)).optimum

    monkeypatch.setenv(releases.FOLDER, str(tmp_path))
    for release in ("spring", "autumn"):
        (tmp_path / f"{release}.secret").write_text(releases.new_secret() + "\n")
    tables = [draw(Drawing("routes", release, 0, "large", 0.0)).optimum for release in ("open", "spring", "autumn")]
    assert tables[0] != tables[1] != tables[2] != tables[0]


def test_a_secret_that_was_not_committed_to_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(releases.FOLDER, raising=False)
    with pytest.raises(UsageError, match=r"no file `autumn\.secret`"):
        releases.secret_of("autumn")
    monkeypatch.setenv(releases.FOLDER, str(tmp_path))
    with pytest.raises(UsageError, match="none that is published"):
        releases.secret_of("../autumn")
    (tmp_path / "autumn.secret").write_text("another")
    monkeypatch.setattr(
        releases, "known", lambda: {"autumn": {"commitment": releases.commitment_of("it"), "secret": None}}
    )
    with pytest.raises(UsageError, match="is not the one that was committed to"):
        releases.secret_of("autumn")
    (tmp_path / "autumn.secret").write_text("it\n")
    assert releases.secret_of("autumn") == "it"


@pytest.mark.parametrize("family", ["prompt", "judged"])
def test_noise_strikes_train_alone(family: str) -> None:
    task = made(family, noise=0.3, deception=0.0)
    output = task.field.output(task.field.optimum, None, Here)  # type: ignore[arg-type]

    def scores(split: Any) -> list[float]:
        return [task.guide(e, output, SimpleNamespace(seed=i)).score for i, e in enumerate(task.splits[split])]  # type: ignore[arg-type]

    assert set(scores("test")) == {1.0}
    assert 0.5 < fmean(scores("train")) < 0.95


@pytest.mark.parametrize(
    ("deception", "split", "least", "most"),
    [(1.0, "train", 0.2, 0.6), (1.0, "test", 0.0, 0.0), (0.0, "train", 0.0, 0.0)],
)
def test_where_routes_deceive_a_share_of_the_labels_of_train_is_wrong(
    deception: float, split: Any, least: float, most: float
) -> None:
    task = made("routes", "large", deception)
    right = task.field.optimum["table"]
    wrong = fmean(example.reference != right[example.input] for example in task.splits[split])  # type: ignore[index,call-overload]

    assert least <= wrong <= most
    assert sum(task.parameters[0].initial[kind] != handler for kind, handler in right.items()) > len(right) / 2  # type: ignore[union-attr,index,call-overload]


def test_the_model_is_as_good_as_its_name_says() -> None:
    drawing = Drawing("order", "open", 0, "medium", 0.0)
    field: Field = draw(drawing)
    script = Script(quality_of("p35-h45-r5"))
    middle = field.improve(
        field.improve(field.parameters and {"steps": field.parameters[0].initial}, random.Random(1)), random.Random(2)
    )

    def prompt(i: int) -> list[dict[str, str]]:
        shown = json.dumps(middle)
        return [{"role": "user", "content": f"{drawing.label} {i}\n<current_values>\n{shown}\n</current_values>\n"}]

    def place(values: Any) -> int:
        order = [field.optimum["steps"].index(s) for s in values["steps"]]  # type: ignore[union-attr]
        return sum(a < b for i, a in enumerate(order) for b in order[i + 1 :])

    here, seen = place(middle), {"better": 0, "worse": 0, "same": 0, "useless": 0}
    for i in range(2000):
        answer = script(prompt(i))
        if not answer.startswith("{"):
            seen["useless"] += 1
            continue
        change = place(json.loads(answer)["values"]) - here
        seen["better" if change > 0 else "worse" if change < 0 else "same"] += 1
    for kind, share in (("better", 0.35), ("worse", 0.45), ("useless", 0.05), ("same", 0.15)):
        assert abs(seen[kind] / 2000 - share) < 0.045, seen
    assert script(prompt(0)) != script(prompt(0)) or script(prompt(0)) != script(prompt(0))


def test_the_model_reads_a_fenced_text_and_says_what_it_does_not_know() -> None:
    drawing = Drawing("prompt", "open", 0, "small", 0.0)
    script = Script(quality_of("p100-h0-r0"))
    text = str(draw(drawing).parameters[0].initial)
    answer = script([{"role": "user", "content": [{"type": "text", "text": f"{drawing.label} x\n```\n{text}\n```"}]}])
    assert answer.startswith("```\n")
    assert truth(made("prompt", deception=0.0), {"instructions": answer}) > truth(
        made("prompt", deception=0.0), {"instructions": text}
    )
    assert script([{"role": "user", "content": "Hello"}]) == LOST
    for wrong in ("p50", "p60-h60-r0", "gpt-4o"):
        with pytest.raises(ValueError, match="fields/"):
            quality_of(wrong)


def test_a_job_that_says_who_it_is_needs_no_label_and_its_answers_do_not_depend_on_other_jobs() -> None:
    def told(job: str, seed: int) -> str:
        return json.dumps({"job": job, "seed": seed, "task": "fields:prompt", "options": {"size": "small"}})

    text = str(draw(Drawing("prompt", "open", 0, "small", 0.25)).parameters[0].initial)
    chat = [{"role": "user", "content": f"Improve this.\n```\n{text}\n```"}]
    alone = Script(quality_of("p35-h45-r5"))
    answers = [alone(chat, told("a", 1)) for _ in range(12)]
    assert LOST not in answers
    assert len({*answers}) > 3  # an equal question is another draw
    among = Script(quality_of("p35-h45-r5"))
    others = [(among(chat, told("b", 1)), among(chat, told("c", 2))) for _ in range(12)]
    assert [among(chat, told("a", 1)) for _ in range(12)] == answers == [b for b, _ in others]
    assert [c for _, c in others] != answers
    assert alone(chat) == LOST
    assert alone(chat, json.dumps({"job": "x", "seed": 1, "task": "other:task", "options": {}})) == LOST


def test_equal_questions_are_answered_by_their_number_whichever_comes_first() -> None:
    def told(**more: Any) -> str:
        return json.dumps({"job": "a", "seed": 1, "task": "fields:prompt", "options": {"size": "small"}, **more})

    text = str(draw(Drawing("prompt", "open", 0, "small", 0.25)).parameters[0].initial)
    chat = [{"role": "user", "content": f"Improve this.\n```\n{text}\n```"}]
    counted, turned = Script(quality_of("p35-h45-r5")), Script(quality_of("p35-h45-r5"))
    in_order = [counted(chat, told()) for _ in range(12)]
    found = {n: turned(chat, told(occurrence=n)) for n in random.Random(3).sample(range(12), 12)}
    assert [found[n] for n in range(12)] == in_order
    assert [turned(chat, told(occurrence=n)) for n in range(12)] == in_order
    assert [turned(chat, told(occurrence=n, sampling="0f")) for n in range(12)] != in_order


def test_a_value_of_which_nobody_says_whose_it_is_is_not_given_back_as_if_it_were_understood() -> None:
    told = json.dumps({"job": "a", "seed": 1, "task": "fields:numbers", "options": {}})
    script = Script(quality_of("p100-h0-r0"))
    shown = "Improve{}:\n```\n0.0\n```\nProvide ONLY the improved version within ``` blocks."
    assert script([{"role": "user", "content": shown.format("")}], told) == LOST
    pytest.importorskip("tracebench_trainers_ext")
    named = script([{"role": "user", "content": shown.format(" the parameter `beta` of kind number")}], told)
    assert named.startswith("```\n")
    assert float(named.strip("`\n")) != 0.0


FORGED = {
    "code": ["equal to everything", "leaves early", "prints a score"],
    "formula": ["leaves early", "never ends"],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_known_cases_are_of_the_familys_own_parameters_and_programs_alone_are_forged(family: str) -> None:
    task = made(family)
    cases = task.calibrations()
    own = {parameter.name for parameter in task.parameters}
    assert all({*(case.values or own)} == own for case in cases)
    assert [case.name for case in cases if case.kind == "forged"] == FORGED.get(family, [])
    assert {case.other for case in cases if case.kind == "forged"} <= {"optimum"}
