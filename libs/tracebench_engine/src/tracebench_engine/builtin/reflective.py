"""`Reflective`: a proposer that shows a model the parameters, what came of them, and asks for better values.

It needs no other package. One call per proposal, and one more when a reply cannot be read. Prompts depend on the problem and the
evaluations alone: no clock, no addresses, no order of dictionaries.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import Field

from tracebench_core.contracts import SIDE_BY_SIDE, Problem
from tracebench_core.errors import ModelError
from tracebench_core.ids import canonical_json
from tracebench_core.proposing.answer_format import ANSWER_FORMAT, describe, render_values
from tracebench_core.proposing.asking import Asked, ModelBandit, ProposerSettings
from tracebench_core.proposing.intake import Intake
from tracebench_core.proposing.patches import PATCH_FORMAT
from tracebench_core.proposing.rendering import as_text, cut, score_text
from tracebench_core.proposing.replies import UnreadableReply, read_reply
from tracebench_core.specs import Evaluation, Example, ExampleResult, Message, Parameter, Values

log = logging.getLogger(__name__)

SYSTEM = f"""\
You improve the parameters of a program. You see what the program is for, its parameters with their current values, how it
did on some examples, and what was tried before. Reason about why the scores are what they are, then change one or more values
so that the score rises. A higher score is better.

{ANSWER_FORMAT}"""


class ReflectiveSettings(ProposerSettings):
    """What may be set of `Reflective`."""

    memory_size: int = Field(default=5, ge=0)
    """Earlier candidates of the lineage that are shown with their scores."""
    max_examples: int = Field(default=8, ge=0)
    """Examples shown with their feedback, worst first."""
    max_chars: int = Field(default=2000, gt=0)
    """Of one input or one feedback; the rest is cut, and the cut is marked."""
    temperature: float | None = Field(default=None, ge=0)


def build(problem: Problem, **settings: Any) -> Reflective:
    """Return the proposer for a problem; the loader of the optimizer `Reflective`."""
    return Reflective(problem, ReflectiveSettings(**settings))


class Reflective:
    """Proposes by reflection on scores and feedback; see the module."""

    def __init__(self, problem: Problem, settings: ReflectiveSettings) -> None:
        self._problem = problem
        self._settings = settings
        self._intake = Intake(problem, patches=settings.patches)
        self._bandit = ModelBandit(problem, settings)

    def propose(self, evaluations: Sequence[Evaluation], *, n: int = 1) -> list[Values]:
        """Return up to `n` improvements on the last of `evaluations`, from `n` independent calls with one prompt.

        Raises:
            BudgetExhausted: when the budget ends.
        """
        return self.propose_many([evaluations], n=n)[0]

    def propose_many(
        self,
        lineages: Sequence[Sequence[Evaluation]],
        *,
        n: int = 1,
        most: int = SIDE_BY_SIDE,
        only: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> list[list[Values]]:
        """Return what `propose` would for each lineage, with the calls side by side; with `only`, these parameters alone change.

        Raises:
            BudgetExhausted: when the budget ends.
        """
        notes = [*notes, *self._intake.notes()]
        bases = [line[-1].candidate.values if line else self._problem.initial for line in lineages]
        free = [p for p in self._problem.parameters if only is None or p.name in only]
        prompts = [self._messages(base, line, notes, free) for base, line in zip(bases, lineages, strict=True)]
        asked = self._bandit.choose(n * len(prompts))
        requests = [messages for messages in prompts for _ in range(n)]
        tasks = [partial(self._ask, messages, free, one) for messages, one in zip(requests, asked, strict=True)]
        replies = self._problem.side_by_side(tasks, most=most)
        found: list[list[Values]] = [[] for _ in bases]
        for i, (one, reply) in enumerate(zip(asked, replies, strict=True)):
            base = bases[i // n]
            values = self._taken(base, reply)
            self._bandit.proposed(one, base, values)
            if values is not None:
                found[i // n].append(values)
        return found

    def _taken(self, base: Values, reply: Mapping[str, Any] | UnreadableReply | None) -> Values | None:
        if isinstance(reply, UnreadableReply):
            self._intake.malformed(str(reply))
            return None
        return None if reply is None else self._intake.take(base, reply)

    def _ask(
        self, messages: Sequence[Message], parameters: Sequence[Parameter], asked: Asked
    ) -> Mapping[str, Any] | UnreadableReply | None:
        """Return what the model suggests; an unreadable reply is sent back once, and is then given up.

        A call without an answer costs its proposal only: whether to go on at all is the engine's decision.
        """
        try:
            reply = self._complete(messages, asked)
        except ModelError as err:
            log.info("no answer: %s", err)
            return None
        try:
            return read_reply(reply, parameters)
        except UnreadableReply as err:
            log.info("unreadable reply, asking again: %s", err)
            complaint = f"This could not be used: {err}.\n{ANSWER_FORMAT}"
            again = [
                *messages,
                {"role": "assistant", "content": reply or "(empty)"},
                {"role": "user", "content": complaint},
            ]
        try:
            return read_reply(self._complete(again, asked), parameters)
        except UnreadableReply as err:
            return err
        except ModelError as err:
            log.info("no answer: %s", err)
        return None

    def _complete(self, messages: Sequence[Message], asked: Asked) -> str:
        sampling: dict[str, Any] = (
            {} if self._settings.temperature is None else {"temperature": self._settings.temperature}
        )
        completion = self._problem.complete(messages, role="optimizer", **asked.sampling, **sampling)[0]
        asked.pay(completion.usage)
        return completion.text

    def _messages(
        self, base: Values, evaluations: Sequence[Evaluation], notes: Sequence[str], parameters: Sequence[Parameter]
    ) -> list[Message]:
        free = {p.name for p in parameters}
        kept = {name: _plain(value) for name, value in base.items() if name not in free}
        sections = [
            f"# Objective\n{self._problem.objective}",
            f"# Parameters\n{describe(parameters)}",
            f"# Current values\n{render_values({p.name: _plain(base[p.name]) for p in parameters})}",
        ]
        if kept:
            shown = "\n".join(f"- {name}: {self._cut(canonical_json(value).decode())}" for name, value in kept.items())
            sections.append(f"# Kept as they are\n{shown}")
        if evaluations:
            sections.append(self._results(evaluations[-1]))
        if past := evaluations[:-1][-self._settings.memory_size :] if self._settings.memory_size else ():
            sections.append("# Tried before, oldest first\n" + "\n".join(self._tried(e) for e in past))
        if notes:
            sections.append("# Mind\n" + "\n".join(f"- {note}" for note in notes))
        system = f"{SYSTEM}\n\n{PATCH_FORMAT}" if self._settings.patches else SYSTEM
        return [{"role": "system", "content": system}, {"role": "user", "content": "\n\n".join(sections)}]

    def _results(self, evaluation: Evaluation) -> str:
        worst = sorted(evaluation.results, key=lambda r: (r.feedback.status == "ok", r.feedback.score))
        shown = worst[: self._settings.max_examples]
        examples = {e.id: e for e in (*self._problem.train, *self._problem.validation)}
        results = [self._result(result, examples.get(result.example)) for result in shown]
        head = f"# Results\nScore: {score_text(evaluation.score)} over {len(evaluation.results)} example(s)"
        return "\n\n".join([f"{head}; {len(shown)} shown, worst first.", *results])

    def _result(self, result: ExampleResult, example: Example | None) -> str:
        feedback = result.feedback
        head = f"## {result.example}: " + (
            f"score {score_text(feedback.score)}" if feedback.status == "ok" else feedback.status
        )
        lines = [head]
        if example is not None and example.input is not None:
            lines.append(f"Input: {self._cut(as_text(example.input))}")
        if feedback.metrics:
            lines.append("Metrics: " + ", ".join(f"{k}={v:.6g}" for k, v in sorted(feedback.metrics.items())))
        if feedback.text:
            lines.append(f"Feedback: {self._cut(feedback.text)}")
        return "\n".join(lines)

    def _tried(self, evaluation: Evaluation) -> str:
        values = canonical_json(evaluation.candidate.values).decode()
        return f"- score {score_text(evaluation.score)}: {self._cut(values)}"

    def _cut(self, text: str) -> str:
        return cut(text, self._settings.max_chars)


def _plain(value: Any) -> Any:
    """Return a JSON value with the keys of its objects in order."""
    return json.loads(canonical_json(value))
