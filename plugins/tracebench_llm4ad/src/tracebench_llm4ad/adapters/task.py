"""A foreign task as a task of the core: one program, one example, the foreign evaluator's score as it is or with its sign mended."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed, Guide
from tracebench_core.errors import UsageError
from tracebench_core.specs import Calibration, Example, Feedback, Limits, Parameter, Split, Values
from tracebench_llm4ad.adapters.catalog import place_of_evaluation
from tracebench_llm4ad.adapters.describing import describe
from tracebench_llm4ad.adapters.known import CORRECTED, MENDED_PROGRAMS, RENAMED, VECTORS, WRITTEN_BACK
from tracebench_llm4ad.adapters.options import ForeignOptions
from tracebench_llm4ad.adapters.process import Overdue, Pool
from tracebench_llm4ad.adapters.rehearsal import rehearse
from tracebench_llm4ad.adapters.together import CALL_MEMORY_MB, evaluate_together
from tracebench_llm4ad.adapters.tree import Found
from tracebench_llm4ad.cobench.folder import data_folder
from tracebench_llm4ad.cobench.independent import IndependentSet
from tracebench_llm4ad.code_task import NUMPY_PRELUDE, PARAMETER, seeding, signature_of
from tracebench_llm4ad.forgeries import LARGE, forged_cases
from tracebench_llm4ad.heuristic import explain
from tracebench_llm4ad.seclusion import SECLUSION, seclude

DEFAULT_SECONDS = 60.0
PATIENCE = 3.0
"""How many times the tree's own limit an evaluation may take apart, where every call travels between processes."""
EPISODES = 5
"""Evaluations that are averaged where the environment is random."""
MARGIN = 10.0
"""Seconds that the evaluator has for itself beyond the candidate's."""

WRITER = "_value_and_argument"
WRITING_BACK = f"""
def {WRITER}(*arguments):
    return {{entry}}(*arguments), list(arguments[{{position}}])
"""
"""Returns a function's value with what it made of one argument."""

RULES = """
Rules: answer with one complete Python program that defines `{signature}`; helper functions beside it are fine. \
`math`, `random`, `numpy` (as `np`) and the names of `typing` are imported for you. The program runs in a locked-down process without \
network or subprocesses. {copies} One evaluation may take {seconds:g} seconds of wall time.
Score: {score}
"""


class ForeignTask:
    """A task of a tree or checkout. Its evaluator never shares a process with a candidate that is not locked down."""

    def __init__(self, found: Found, options: ForeignOptions) -> None:
        self.found = found
        kwargs = dict(options.model_extra or {})
        if options.timeout_seconds is not None:
            kwargs["timeout_seconds"] = options.timeout_seconds
        self.order = {
            "layout": found.layout,
            "root": str(found.root),
            "folder": str(found.folder),
            "module": found.module,
            "class": found.evaluator,
            "kwargs": kwargs,
            "data": str(data_folder()) if data_folder() else None,
            "renamed": RENAMED.get(found.short, {}),
            "graphs": IndependentSet.files() if found.fetches == IndependentSet.folder else None,
        }
        self._pool = Pool(self.order, key=found.key)
        with self._pool.borrowed() as process:
            self.facts = dict(process.facts)
        if mend := MENDED_PROGRAMS.get(found.short):
            self.facts["program"] = re.sub(*mend, self.facts["program"])
        self.where = options.where or ("together" if self.facts["kind"] == "guide" else place_of_evaluation(found)[0])
        if self.where != "together" and (found.takes_text or self.facts["kind"] == "guide"):
            raise UsageError(
                f"Task `{found.key}` cannot be evaluated {self.where}: {place_of_evaluation(found)[1] or 'its guide runs the text'}.",
                hint="leave `where` out of its `eval_kwargs`",
            )
        patience = 1.0 if self.where == "together" else PATIENCE
        self.seconds = float(options.timeout_seconds or patience * (self.facts["timeout"] or DEFAULT_SECONDS))
        self.repeats = options.repeats or (EPISODES if found.random_environment else 1)
        self.prelude = NUMPY_PRELUDE + f"{self.facts['header']}\n"
        self._written_back = WRITTEN_BACK.get(found.short)
        signature = signature_of(self.facts["program"], self.facts["entry"])
        self._names = argument_names(signature)
        self.objective = self._objective(signature)
        self.parameters: Sequence[Parameter] = (
            Parameter(
                name=PARAMETER,
                initial=self.facts["program"].strip() + "\n",
                kind="code",
                description=f"A Python program that defines `{signature.removesuffix(':')}`.",
                signature=signature,
                max_length=100_000,
            ),
        )
        self.splits: Mapping[Split, Sequence[Example]] = {
            "train": (Example(id="all", input=found.key),),
            "validation": (),
            "test": (),
        }
        self.guide: Guide = self._score

    @classmethod
    def build(cls, found: Found, /, **options: Any) -> ForeignTask:
        """Build the task from its validated options.

        Raises:
            PluginError: when the foreign modules cannot be loaded; it says what they raised.
        """
        return cls(found, ForeignOptions(**options))

    def calibrations(self) -> Iterator[Calibration]:
        """Yield forgeries of the starting program; nothing else is known of a task of others."""
        return forged_cases(self.facts["program"], entry=self.facts["entry"], claim=LARGE, answers_dictionary=True)

    def close(self) -> None:
        """End the evaluator's processes."""
        self._pool.close()

    def run(self, values: Values, example: Example, context: Context) -> dict[str, Any]:
        """Return the evaluator's report on a program; every evaluation begins from the task as it was loaded."""
        code = str(values[PARAMETER])
        ways = {"apart": self._apart, "rehearsed": self._rehearsed, "together": self._together}
        report = ways[self.where](code, context)
        if words := report.get("refused"):
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=words))
        if words := report.get("error") or report.get("crashed"):
            text = f"The evaluation failed, most likely on what the program returned: {words}"
            raise EvaluationFailed(Feedback(score=0.0, status="error", text=text))
        return report

    def _apart(self, code: str, context: Context) -> dict[str, Any]:
        prelude = f"{SECLUSION}{seclude(self.found.secluded)}{self.prelude}{seeding(context.seed, numpy=True)}"
        entry, written = self.facts["entry"], self._written_back
        if written is not None:
            prelude, entry = prelude + WRITING_BACK.format(entry=entry, position=written), WRITER
        with context.sandbox.session(code, entry, limits=Limits(seconds=self.seconds), prelude=prelude) as session:

            def call(args: list[Any]) -> Any:
                outcome = session.call(*args)
                if outcome.status != "ok":
                    raise EvaluationFailed(explain(outcome))
                return outcome.value

            return self._asked(self._request(context), call)

    def _rehearsed(self, code: str, context: Context) -> dict[str, Any]:
        request = self._request(context)
        answers = rehearse(
            self.found,
            self.order | request | {"entry": self.facts["entry"]},
            code=code,
            prelude=f"{SECLUSION}{self.prelude}{seeding(context.seed, numpy=True)}",
            sandbox=context.sandbox,
            limits=Limits(seconds=self.seconds, memory_mb=CALL_MEMORY_MB),
        )
        return self._asked(request | {"answers": answers}, _never)

    def _asked(self, request: dict[str, Any], call: Callable[[list[Any]], Any]) -> dict[str, Any]:
        try:
            with self._pool.borrowed() as process:
                return process.evaluate(request, call, seconds=Limits(seconds=self.seconds).clock_seconds + MARGIN)
        except Overdue as err:
            raise EvaluationFailed(Feedback(score=0.0, status="timeout", text=f"No score: {err}")) from err

    def _request(self, context: Context) -> dict[str, Any]:
        names, written = self._names, self._written_back
        seed = context.seed % 2**31
        return {"seed": seed, "repeats": self.repeats, "names": names, "written_back": written, "answers": None}

    def _together(self, code: str, context: Context) -> dict[str, Any]:
        order = self.order | {
            "code": code,
            "prelude": self.prelude + seeding(context.seed, numpy=True),
            "seed": context.seed % 2**31,
            "repeats": self.repeats,
            "written_back": self._written_back,
        }
        return evaluate_together(self.found, order, sandbox=context.sandbox, seconds=self.seconds + MARGIN)

    def _score(self, example: Example, output: dict[str, Any], _context: Context) -> Feedback:
        values: list[float] = output["values"]
        metrics = dict(output["metrics"])
        correction = CORRECTED.get(self.found.short)
        if len(values) > 1:
            named = VECTORS.get(self.found.short, ())
            names = named if len(named) == len(values) else [f"objective_{k}" for k in range(1, len(values) + 1)]
            metrics |= dict(zip(names, values, strict=True))
        score = abs(values[0]) if correction else values[0]
        metrics[correction.metric if correction else "score"] = score
        told = ", ".join(f"{name} {value:.6g}" for name, value in sorted(metrics.items()))
        words = f"The evaluator's score is {score:.6g}; higher is better. {told}."
        return Feedback(score=score, text=f"{words}\n{output['text']}".strip(), metrics=metrics)

    def _objective(self, signature: str) -> str:
        texts = [*self.found.descriptions, self.facts["description"]]
        text = describe(texts, program=self.facts["program"], entry=self.facts["entry"])
        correction = CORRECTED.get(self.found.short)
        named = VECTORS.get(self.found.short)
        score = "the evaluator's number; higher is better."
        if named:
            score = f"the first of the objectives {', '.join(named)}; higher is better in each."
        if correction:
            score = f"the {correction.metric}; higher is better. The tree {correction.words}."
        if self.repeats > 1:
            score += f" It is the mean of {self.repeats} evaluations with different seeds."
        copies = "Arguments are copies: changing them changes nothing."
        if self._written_back is not None:
            kept = self._names[self._written_back]
            copies = f"The evaluator keeps what the function makes of the list `{kept}`; other arguments are copies."
        return (
            text
            + "\n"
            + RULES.format(signature=signature.removesuffix(":"), seconds=self.seconds, score=score, copies=copies)
        )


def _never(_args: list[Any]) -> Any:
    raise AssertionError("an evaluator that was given the answers asks for none")


def argument_names(signature: str) -> list[str]:
    """Return the positional argument names of a `def` line."""
    function = ast.parse(f"{signature} ...").body[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - `signature_of` writes nothing else
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
