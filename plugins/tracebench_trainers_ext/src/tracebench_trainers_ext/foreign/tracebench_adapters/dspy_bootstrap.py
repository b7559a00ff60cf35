"""`BootstrapFewShot`: worked examples that the program got right become the value of the task's demonstrations parameter."""

import json

import dspy

from . import knobs
from .dspy_optimizers import HELD, opened
from .task import shown
from .texts import fields_of


class Demonstrated(dspy.Module):
    """A program whose predictor's demonstrations are the parameter's value."""

    def __init__(self, run):
        super().__init__()
        self.shots = dspy.Predict("question -> answer")
        self._run = run

    def forward(self, example, question):
        """Run the task's program with the demonstrations that the predictor holds."""
        return self._run(self, example, question)


class Shots:
    """The task's demonstrations: how they are written, and how they are measured."""

    def __init__(self, task, name):
        self._task = task
        self._name = name
        self._initial = json.loads(task.initial[name])
        self._keys = fields_of(self._initial, task.parameters[name].description)

    def texts(self, module):
        """Return the task's texts with the module's demonstrations."""
        shots = [dict(zip(self._keys, (d.question, d.answer))) for d in module.shots.demos]
        return {**self._task.initial, self._name: json.dumps([*self._initial, *shots], ensure_ascii=False)}

    def run(self, module, example, question):
        """Measure one example; its demonstration is the reference, which a program that scored well has met."""
        (found,) = self._task.measure(self.texts(module), [example], origin="dspy:bootstrap")
        reference = getattr(self._task.inputs[example], "reference", None)
        prediction = dspy.Prediction(answer=as_text(reference), score=found.score)
        if dspy.settings.trace is not None:
            dspy.settings.trace.append((module.shots, {"question": question}, {"answer": prediction.answer}))
        return prediction


def as_text(value):
    """Return a reference as a demonstration shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def rows_of(examples):
    """Return DSPy's examples, whose demonstrations hold a question and the reference."""
    return [
        dspy.Example(example=e.id, question=shown(e), answer=as_text(getattr(e, "reference", None))).with_inputs(
            "example", "question"
        )
        for e in examples
    ]


def bootstrap(task, settings):
    """Collect demonstrations, and measure the program that holds them."""
    with opened(task, settings, origin="dspy:bootstrap") as (s, _program, _lm):
        shots = Shots(task, s.parameter)
        kind, compiling = dspy.BootstrapFewShot, {"trainset": rows_of(task.train)}
        made = {
            "metric": lambda *given: given[1].score >= s.metric_threshold,  # the example, the prediction, the trace
            "max_bootstrapped_demos": s.max_bootstrapped_demos,
            "max_labeled_demos": s.max_labeled_demos,
            "max_rounds": s.max_rounds,
        }
        if s.num_candidate_programs:
            kind = dspy.BootstrapFewShotWithRandomSearch
            made |= {"num_candidate_programs": s.num_candidate_programs, "num_threads": 1}
            compiling["valset"] = rows_of(task.validation)
        optimizer = knobs.call(kind, made, s.library, held=(*HELD, "metric_threshold"))
        module = optimizer.compile(Demonstrated(shots.run), **compiling)
        task.begin_step()
        task.measure(shots.texts(module), task.validation, parents=[task.initial], origin="dspy:bootstrap")
