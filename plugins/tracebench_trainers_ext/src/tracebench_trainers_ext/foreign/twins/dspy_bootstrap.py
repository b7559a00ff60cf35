"""DSPy's BootstrapFewShot, by itself or within its random search: the demonstrations of a predictor are a parameter's value."""

import json
import re

import dspy
import recorded
from dspy_world import compiled
from recorded import settings

name = settings.parameter
initial = recorded.initial[name]
described = re.search(r'\{\s*"(\w+)":[^{}]*?,\s*"(\w+)":', recorded.parameters[name].description)
keys = (*initial[0], "output")[:2] if initial else described.groups() if described else ("input", "output")


class Program(dspy.Module):
    def __init__(self):
        super().__init__()
        self.shots = dspy.Predict("question -> answer")

    def forward(self, example, question):
        (one,) = recorded.measure(values(self), [example])
        answer = as_text(getattr(recorded.example(example), "reference", None))
        if dspy.settings.trace is not None:
            dspy.settings.trace.append((self.shots, {"question": question}, {"answer": answer}))
        return dspy.Prediction(answer=answer, score=one.score)


def values(program):
    shots = [dict(zip(keys, (demo.question, demo.answer))) for demo in program.shots.demos]
    return {**recorded.initial, name: [*initial, *shots]}


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def rows(split):
    return [
        dspy.Example(
            example=e.id, question=recorded.shown(e), answer=as_text(getattr(e, "reference", None))
        ).with_inputs("example", "question")
        for e in split
    ]


optimizer, compiling = dspy.BootstrapFewShot, {"trainset": rows(recorded.train)}
made = {
    "metric": lambda *given: given[1].score >= settings.metric_threshold,
    "max_bootstrapped_demos": settings.max_bootstrapped_demos,
    "max_labeled_demos": settings.max_labeled_demos,
    "max_rounds": settings.max_rounds,
}
if settings.num_candidate_programs:
    optimizer = dspy.BootstrapFewShotWithRandomSearch
    made |= {"num_candidate_programs": settings.num_candidate_programs, "num_threads": 1}
    compiling["valset"] = rows(recorded.validation)
recorded.measure(values(compiled(optimizer, made, compiling, Program())), recorded.validation)
