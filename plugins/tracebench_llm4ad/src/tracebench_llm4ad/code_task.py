"""One task whose single parameter is a program: batches of instances, the candidate in a session, verified scores.

The score of an example is the native metric, its sign turned so that higher is better, averaged over the batch. `metrics` holds the
native metric itself and `normalised`: 0 is the starting program, 1 the best known value or bound, both averaged over the same batch.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, get_args

from pydantic import JsonValue

from tracebench_core.contracts import Context, EvaluationFailed, Guide
from tracebench_core.specs import Calibration, Example, Feedback, Limits, Parameter, Split, Values
from tracebench_llm4ad.anchoring import Anchors, keep, key_of, recall
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.drawings.view import RECORD
from tracebench_llm4ad.evaluator import Rules, Verdict
from tracebench_llm4ad.heuristic import SandboxedHeuristic, load_trusted, side_by_side_source
from tracebench_llm4ad.seclusion import SECLUSION
from tracebench_llm4ad.stepwise import StepwiseRules, solve_side_by_side

SPLITS: frozenset[Split] = frozenset(get_args(Split))
PUBLIC: Mapping[Split, str] = MappingProxyType({})
"""No split has a salt."""
PARAMETER = "program"
PRELUDE = "import math\nimport random\nfrom typing import *\n"
NUMPY_PRELUDE = PRELUDE + "import numpy as np\n"
RULES = """
Rules: answer with one complete Python program that defines `{signature}`; helper functions beside it are fine. \
`math`, `random`{numpy} and `typing` are imported for you; {more}. \
The program runs alone in a locked-down process without files, network or subprocesses. Arguments are copies: changing them changes \
nothing. {seconds:g} seconds of wall time cover all calls for one batch of instances.{alternating} \
Every solution is verified by the evaluator; a broken rule, an exception or a time-out earns no score at all.
"""
ALTERNATING = " The instances of a batch are worked on side by side, so calls for different instances alternate."


@dataclass(frozen=True, slots=True)
class Case:
    """One instance with the name that feedback uses for it."""

    name: str
    instance: Any


class CodeTask:
    """A core `Task` made of `Rules`: an example's input is a tuple of `Case`s, its output one solution per case."""

    def __init__(
        self, evaluator: Rules[Any], *, splits: frozenset[Split] = SPLITS, salts: Mapping[Split, str] = PUBLIC
    ) -> None:
        """`splits` are those to open; generated instances of a split with a salt are drawn from it, the others from a public seed."""
        self.evaluator = evaluator
        self.spec = BY_NAME[evaluator.name]
        self._sign = 1.0 if self.spec.direction == "maximize" else -1.0
        self._prelude = NUMPY_PRELUDE if evaluator.needs_numpy else PRELUDE
        self._anchors: dict[str, Anchors] = {}
        self._hung = ("", "")  # the program that last ran out of time, and on which example
        signature = signature_of(evaluator.program, evaluator.entry)
        self.objective = (
            evaluator.objective.strip()
            + "\n"
            + RULES.format(
                signature=signature.removesuffix(":"),
                numpy=", `numpy` (as `np`)" if evaluator.needs_numpy else "",
                more=self._further_modules(),
                seconds=evaluator.timeout_seconds,
                alternating=ALTERNATING if isinstance(evaluator, StepwiseRules) else "",
            )
        )
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name=PARAMETER,
                initial=evaluator.program.strip() + "\n",
                kind="code",
                description=f"A Python program that defines `{signature.removesuffix(':')}`.",
                signature=signature,
                max_length=100_000,
            ),
        )
        self.splits: Mapping[Split, Sequence[Example]] = {
            split: self._examples(split, salts.get(split, "")) for split in sorted(splits)
        }
        self._pictured = _pictured(self.splits, "test")
        self._followed = _pictured(self.splits, "validation", "train")
        self._drawn = -math.inf
        self.guide: Guide = self._score

    def run(self, values: Values, example: Example, context: Context) -> list[Any]:
        """Return one solution per case of the example."""
        code = str(values[PARAMETER])
        self._refuse_hung(code, example)
        with self._marked(code, example):
            return self._solved(code, example, context)

    def _solved(self, code: str, example: Example, context: Context) -> list[Any]:
        """Return the solutions; one session of the sandbox serves the whole batch."""
        limits = Limits(seconds=self.evaluator.timeout_seconds)
        evaluator = self.evaluator
        prelude = f"{SECLUSION}{self._prelude}{seeding(context.seed, numpy=evaluator.needs_numpy)}{side_by_side_source(evaluator.entry)}"
        with context.sandbox.session(code, self.evaluator.entry, limits=limits, prelude=prelude) as session:
            if isinstance(evaluator, StepwiseRules):
                cases: Sequence[Case] = example.input
                simulations = [evaluator.steps(case.instance) for case in cases]
                return solve_side_by_side(simulations, session, named=lambda place: named(cases[place]))
            solutions = []
            for case in example.input:
                with named(case):
                    solutions.append(evaluator.solve(case.instance, SandboxedHeuristic(session)))
            return solutions

    def _refuse_hung(self, code: str, example: Example) -> None:
        """Refuse a program that took all of its time on another example, so that one that hangs costs one time-out; a repeat is run."""
        hung, self._hung = self._hung, ("", "")
        if hung[0] == code and hung[1] != example.id:
            self._hung = hung
            text = f"Not run on `{example.id}`: the program ran out of time on `{hung[1]}`, and then earns nothing."
            raise EvaluationFailed(Feedback(score=0.0, status="timeout", text=text))

    @contextmanager
    def _marked(self, code: str, example: Example) -> Iterator[None]:
        """Remember a program that runs out of time."""
        try:
            yield
        except EvaluationFailed as failure:
            if failure.feedback.status == "timeout":
                self._hung = (code, example.id)
            raise

    def calibrations(self) -> Iterator[Calibration]:
        """Yield cases whose outcome is known."""
        from tracebench_llm4ad.calibrations import cases  # noqa: PLC0415 - only who calibrates needs every program

        return cases(self)

    def anchors(self, case: Case) -> Anchors:
        """Return what a case's values are measured against; computed once, by trusted code in this process or an earlier one."""
        if case.name not in self._anchors:
            key = key_of(self.evaluator, case.instance)
            known = recall(key)
            self._anchors[case.name] = anchors = known or self._computed_anchors(case.instance)
            if known is None:
                keep(key, anchors)
        return self._anchors[case.name]

    def _computed_anchors(self, instance: Any) -> Anchors:
        start = load_trusted(
            self.evaluator.program,
            self.evaluator.entry,
            prelude=self._prelude + seeding(0, numpy=self.evaluator.needs_numpy),
        )
        value = self.evaluator.judge(instance, self.evaluator.solve(instance, start)).value
        return Anchors(start=value, bound=self.evaluator.bound(instance))

    def _further_modules(self) -> str:
        further = [name for name in self.spec.sandbox or () if name not in {"math", "random", "numpy"}]
        return (
            f"{' and '.join(f'`{name}`' for name in further)} may be imported" if further else "nothing else is needed"
        )

    def _examples(self, split: Split, salt: str) -> tuple[Example, ...]:
        return tuple(
            Example(
                id=f"{split}-{index}",
                input=tuple(Case(f"{split}-{index}.{k}", instance) for k, instance in enumerate(batch)),
            )
            for index, batch in enumerate(self.evaluator.batches(split, salt))
        )

    def _score(self, example: Example, output: Any, context: Context) -> Feedback:
        cases: Sequence[Case] = example.input
        verdicts: list[Verdict] = []
        for case, solution in zip(cases, output, strict=True):
            with named(case):
                verdicts.append(self.evaluator.judge(case.instance, solution))
        value = mean([v.value for v in verdicts])
        start = mean([self.anchors(case).start for case in cases])
        bound = mean([self.anchors(case).bound for case in cases])
        shared = set.intersection(*(set(v.metrics) for v in verdicts))
        metrics = {name: mean([v.metrics[name] for v in verdicts]) for name in sorted(shared)}
        metrics[self.spec.metric] = value
        if all(self.evaluator.is_scaled(case.instance) for case in cases):
            metrics["normalised"] = normalise(value, start=start, bound=bound)
        text = self._words(cases, verdicts, Anchors(start=start, bound=bound), metrics)
        leads = example.id == self._followed and self._sign * value > self._drawn
        if leads:
            self._drawn = self._sign * value
        if leads or example.id == self._pictured:
            self._keep_picture(cases[0], output[0], verdicts[0], context, held_out=example.id == self._pictured)
        return Feedback(score=self._sign * value, text=text, metrics=metrics)

    def _keep_picture(self, case: Case, solution: Any, verdict: Verdict, context: Context, *, held_out: bool) -> None:
        """Keep a picture of a judged solution; one that cannot be drawn costs nothing but itself."""
        try:
            drawing = self.evaluator.draw(case.instance, solution)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return
        if drawing is not None:
            told: dict[str, JsonValue] = {"case": case.name, "metric": self.spec.metric, "value": verdict.value}
            context.record(RECORD, {**told, "held_out": held_out, "picture": drawing.data()})

    def _words(
        self, cases: Sequence[Case], verdicts: Sequence[Verdict], anchors: Anchors, metrics: Mapping[str, float]
    ) -> str:
        spec = self.spec
        metric = spec.metric.replace("_", " ")
        better = "higher" if spec.direction == "maximize" else "lower"
        counted = f"{len(cases)} instances" if len(cases) > 1 else "1 instance"
        first = (
            f"Mean {metric} over {counted}: {metrics[spec.metric]:.6g} ({better} is better). "
            f"The starting program has {anchors.start:.6g}, {self._scale(cases, anchors, metrics)}"
        )
        worst, verdict = max(zip(cases, verdicts, strict=True), key=lambda pair: self._gap(*pair))
        second = (
            f"{'Worst instance' if len(cases) > 1 else 'Instance'} `{worst.name}`: {verdict.value:.6g} "
            f"against {self.anchors(worst).bound:.6g}. {verdict.note}".rstrip()
        )
        return f"{first}\n{second}"

    def _scale(self, cases: Sequence[Case], anchors: Anchors, metrics: Mapping[str, float]) -> str:
        """Say where the value lies between the start and the best there is, or that nobody knows the best."""
        if "normalised" not in metrics:
            return f"no answer passes {anchors.bound:.6g}, a simple bound; how near to it one can come is not known, so there is no scale."
        told = self.evaluator.told_bound(cases[0].instance)
        return f"{told} {anchors.bound:.6g}; on that scale from 0 to 1 this is {metrics['normalised']:.3f}."

    def _gap(self, case: Case, verdict: Verdict) -> float:
        bound = self.anchors(case).bound
        return self._sign * (bound - verdict.value) / max(abs(bound), 1e-9)


Options = TypeVar("Options")


class Loader(Protocol):
    """Builds a task for a process that may hold some of its splits."""

    def __call__(
        self, *, splits: frozenset[Split] = SPLITS, salts: Mapping[Split, str] = PUBLIC, **options: Any
    ) -> CodeTask:
        """Build the task from its validated options."""
        ...


def loader(
    rules: Callable[[Options], Rules[Any]], options: Callable[..., Options], *, task: type[CodeTask] = CodeTask
) -> Loader:
    """Return what builds the task of some rules and the model of their options."""

    def build(*, splits: frozenset[Split] = SPLITS, salts: Mapping[Split, str] = PUBLIC, **given: Any) -> CodeTask:
        return task(rules(options(**given)), splits=splits, salts=salts)

    return build


def _pictured(splits: Mapping[Split, Sequence[Example]], *order: Split) -> str:
    """Return the example of which pictures are kept, the first of the first split that has any.

    A held-out one is seen by the best candidates only, one of training is drawn for who is better than all before: few are kept.
    """
    return next((found[0].id for split in order if (found := splits.get(split))), "")


def normalise(value: float, *, start: float, bound: float) -> float:
    """Return where `value` lies from `start` (0) to `bound` (1); worse than the start is negative.

    Where the starting program already attains the bound, attaining it is 1 and the shortfall counts relative to the bound.
    """
    span = bound - start
    if abs(span) > 1e-12 * max(1.0, abs(bound)):
        return (value - start) / span + 0.0  # no -0.0
    return 1.0 - abs(value - bound) / max(1.0, abs(bound))


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, the same on every Python version."""
    return math.fsum(values) / len(values)


def seeding(seed: int, *, numpy: bool) -> str:
    """Return source that seeds the candidate's own random generators."""
    lines = f"random.seed({seed})\n"
    return lines + f"np.random.seed({seed % 2**32})\n" if numpy else lines


def signature_of(program: str, entry: str) -> str:
    """Return the `def` line of `entry` in a program, on one line and with its colon."""
    for node in ast.parse(program).body:
        if isinstance(node, ast.FunctionDef) and node.name == entry:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"def {entry}({ast.unparse(node.args)}){returns}:"
    raise ValueError(f"the starting program defines no `{entry}`")


@contextmanager
def named(case: Case) -> Iterator[None]:
    """Put the case's name before the words of a failure."""
    try:
        yield
    except EvaluationFailed as failure:
        text = f"Instance `{case.name}`: {failure.feedback.text}"
        raise EvaluationFailed(failure.feedback.model_copy(update={"text": text})) from failure
