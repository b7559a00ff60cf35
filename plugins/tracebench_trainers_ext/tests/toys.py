"""Tasks in one file for optimizers that need words, or worked examples; `bare/` scores the same by hand."""

from __future__ import annotations

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Parameter, Split, Values
from tracebench_engine.builtin.tasks.simple import SimpleTask

INPUTS: dict[Split, tuple[int, ...]] = {"train": (0, 1, 2, 5), "validation": (3, 7), "test": (4, 10)}


def words() -> SimpleTask:
    """Score = 1 / (1 + |rules - x|): each input wants another number of rules."""

    def guide(example: Example, output: str, context: Context) -> Feedback:
        return Feedback(score=1.0 / (1.0 + abs(output.count("Rule") - example.input)), text="Count the rules.")

    return SimpleTask(
        objective="Have as many rules as an input says.",
        parameters=[Parameter(name="instructions", initial="Answer.", kind="text")],
        program=lambda values, example, context: str(values["instructions"]),
        guide=guide,
        splits={s: tuple(Example(id=f"{s}-{x}", input=x, reference=x) for x in xs) for s, xs in INPUTS.items()},
    )


def shots() -> SimpleTask:
    """Score 1 for a small number, and for any as soon as two worked examples are shown."""

    def program(values: Values, example: Example, context: Context) -> int:
        return len(values["demos"])  # type: ignore[arg-type]

    def guide(example: Example, output: int, context: Context) -> Feedback:
        return Feedback(score=float(output > 1 or int(example.input) < 2), text="Show more.")

    return SimpleTask(
        objective="Show worked examples.",
        parameters=[
            Parameter(
                name="demos", initial=[], kind="json", description='A list of {"question": text, "answer": text}.'
            )
        ],
        program=program,
        guide=guide,
        splits={
            s: tuple(Example(id=f"{s}-{x}", input=str(x), reference=str(x * x)) for x in xs) for s, xs in INPUTS.items()
        },
    )


def pair() -> SimpleTask:
    """Score = 1 / (1 + |rules in both - x|), for two texts."""
    one = words()
    return SimpleTask(
        objective="Have as many rules as an input says.",
        parameters=[Parameter(name=name, initial="Answer.", kind="text") for name in ("head", "tail")],
        program=lambda values, example, context: f"{values['head']}\n{values['tail']}",
        guide=one.guide,
        splits=one.splits,
    )
