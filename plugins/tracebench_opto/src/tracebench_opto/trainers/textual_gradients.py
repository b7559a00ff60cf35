"""TextualGradients: one criticism for each example, all of them together for each parameter's next value.

Source: TextGrad (Yuksekgonul et al., arXiv 2406.07496; Nature 639, 2025): "gradients" are a model's criticism of a
variable, one for each example of the minibatch; textual gradient descent asks for each variable's new value with all of
them, the gradients of past steps (momentum) and constraints in words; for prompts, a step that does worse on validation
is reverted. The proposer `TextGrad` is Trace's, with one criticism for a whole batch, and the trainer `TextGrad` is the
textgrad library's own. What differs, and why:

* the example's feedback stands for the loss's words, and the program is one node: a task has no graph of its own to go
  back along, and where it has one (`optimizer: TextGrad`) Trace goes along it;
* with `skip_perfect_score` an example that already has `perfect_score` is not criticised: nothing is to be gained from it;
* all calls of a step's gradients are under way together, and so are those of its updates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.answer_format import ANSWER_FORMAT, describe, render_values
from tracebench_core.proposing.intake import Intake
from tracebench_core.proposing.rendering import as_text, cut, score_text
from tracebench_core.proposing.replies import UnreadableReply, read_reply
from tracebench_core.specs import Budget, CostEstimate, Example, ExampleResult, Message, Parameter, TaskShape, Values
from tracebench_opto.parts.acceptance import accept
from tracebench_opto.parts.advice import FEW, of_search
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.evolution import is_perfect
from tracebench_opto.parts.scarcity import STEPS, Variant
from tracebench_opto.parts.search import Search, SearchSettings

CRITIC = """\
You criticise the parameters of a program by how it did on one example. Say what about each parameter led to this result and how it should
change, concretely and in few sentences. Propose no new value: others will, with the criticism of other examples beside yours."""
EDITOR = f"""\
You improve one parameter of a program. You see its current value and what critics said of it, each from one example. Find a value that
answers to all of the criticism, not to the loudest of it.

{ANSWER_FORMAT}"""
LONGEST = 2000
"""Characters of one input, feedback, gradient or past value that are shown."""

Gradients = Sequence[str]


class Settings(SearchSettings):
    """Settings of TextualGradients. One step is one minibatch."""

    variant: Variant = "budget"
    """`budget` takes smaller batches where calls are scarce; `paper` keeps the published batch."""
    train_batch_size: int = Field(default=3, ge=1)
    """At most so many examples of a minibatch; each is criticised in a call of its own."""
    momentum_window: int = Field(default=0, ge=0)
    """Past steps whose values and gradients each update is shown."""
    constraints: tuple[str, ...] = ()
    """What every new value must keep to, in words."""
    revert_on_validation: bool = True
    """Go back to the current candidate when its child is worse where candidates are compared; when false, always move on."""
    skip_perfect_score: bool = True
    perfect_score: float | None = None
    """None for exactly 1: a task that scores above it has another scale."""

    def narrowed(self, budget: Budget, *, parameters: int) -> Settings:
        """Return these settings with the batch that leaves scarce calls 20 steps, or as near to it as one example comes."""
        if self.variant == "paper" or budget.llm_calls is None:
            return self
        affordable = max(1, budget.llm_calls // STEPS - parameters)
        return self.model_copy(update={"train_batch_size": min(self.train_batch_size, affordable)})


@dataclass(frozen=True, slots=True)
class Past:
    """What a step had before it, and what was said of it."""

    values: Values
    gradients: Gradients


@dataclass(frozen=True, slots=True)
class TextualGradients:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the descent."""
        cfg = self.settings.narrowed(problem.budget.caps, parameters=len(problem.parameters))
        search = Search(problem, cfg)
        intake = Intake(problem)
        past: deque[Past] = deque(maxlen=cfg.momentum_window)
        current: Entry | None = None
        for _ in search.schedule():
            with problem.step():
                current = current or search.seed()
                gradients = self._gradients(search, current, search.batches.draw())
                values = self._updated(search, current, gradients, past=past, intake=intake) if gradients else None
                past.append(Past(current.candidate.values, gradients))
                proposed = search.fresh([values], known=[current]) if values is not None else []
                for child in search.attempt(proposed, search.selection, parent=current, origin="descend"):
                    current = child if self._goes_on(search, child, current) else current

    def _gradients(self, search: Search, current: Entry, batch: Sequence[Example]) -> Gradients:
        """Ask for one criticism of each example, in their order; those without an answer are left out."""
        evaluation = search.measure(current, batch)
        examples = {e.id: e for e in batch}
        prompts = [
            self._criticise(search.problem, current.candidate.values, examples[result.example], result)
            for result in evaluation.results
            if not self._is_perfect(result)
        ]
        return [text.strip() for text in search.ask(prompts) if text and text.strip()]

    def _is_perfect(self, result: ExampleResult) -> bool:
        cfg, feedback = self.settings, result.feedback
        return cfg.skip_perfect_score and feedback.status == "ok" and is_perfect(feedback.score, cfg.perfect_score)

    def _criticise(self, problem: Problem, values: Values, example: Example, result: ExampleResult) -> list[Message]:
        feedback = result.feedback
        verdict = f"score {score_text(feedback.score)}" if feedback.status == "ok" else feedback.status
        content = (
            f"# Objective\n{problem.objective}\n\n# Parameters\n{describe(problem.parameters)}\n\n"
            f"# Values\n{_shown(values)}\n\n# Example\nInput: {cut(as_text(example.input), LONGEST)}\n"
            f"Result: {verdict}\nFeedback: {cut(feedback.text, LONGEST)}"
        )
        return [{"role": "system", "content": CRITIC}, {"role": "user", "content": content}]

    def _updated(
        self, search: Search, current: Entry, gradients: Gradients, *, past: Sequence[Past], intake: Intake
    ) -> Values | None:
        """Ask for each parameter's new value, and return all of them together; None where nothing changes."""
        problem, values = search.problem, current.candidate.values
        notes = intake.notes()
        prompts = [
            self._edit(problem, p, values, gradients=gradients, past=past, notes=notes) for p in problem.parameters
        ]
        written: dict[str, Any] = {}
        for parameter, reply in zip(problem.parameters, search.ask(prompts), strict=True):
            if reply is not None:
                try:
                    found = read_reply(reply, [parameter])
                except UnreadableReply as err:
                    intake.malformed(str(err))
                else:
                    written |= {name: value for name, value in found.items() if name == parameter.name}
        return intake.take(values, written) if written else None

    def _edit(
        self,
        problem: Problem,
        parameter: Parameter,
        values: Values,
        *,
        gradients: Gradients,
        past: Sequence[Past],
        notes: Sequence[str],
    ) -> list[Message]:
        name = parameter.name
        others = {n: v for n, v in values.items() if n != name}
        sections = [
            f"# Objective\n{problem.objective}",
            f"# Parameter\n{describe([parameter])}",
            f"# Current values\n{render_values({name: values[name]})}",
        ]
        sections += [f"# Other parameters, which others improve\n{_shown(others)}"] if others else []
        sections += [f"# Criticism\n{_listed(gradients)}"]
        sections += [f"# Past values and their criticism, oldest first\n{_remembered(name, past)}"] if past else []
        told = [*self.settings.constraints, *notes]
        sections += [f"# Constraints\n{_listed(told)}"] if told else []
        return [{"role": "system", "content": EDITOR}, {"role": "user", "content": "\n\n".join(sections)}]

    def _goes_on(self, search: Search, child: Entry, current: Entry) -> bool:
        return accept(
            search.problem,
            search.measure(child, search.selection),
            search.measure(current, search.selection),
            goal=search.archive.goal,
            always=not self.settings.revert_on_validation,
            what="the selection",
        )


def _shown(values: Mapping[str, Any]) -> str:
    return "\n".join(f"- {name}: {cut(as_text(value), LONGEST)}" for name, value in sorted(values.items()))


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"{i}. {cut(line, LONGEST)}" for i, line in enumerate(lines, 1))


def _remembered(name: str, past: Sequence[Past]) -> str:
    return "\n\n".join(f"## {cut(as_text(p.values[name]), LONGEST)}\n{_listed(p.gradients)}" for p in past)


def build(settings: Settings) -> TextualGradients:
    """Return the trainer."""
    return TextualGradients(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use: a call for each example of the batch and for each parameter."""
    settings = settings.narrowed(shape.budget, parameters=shape.parameters)
    judged, feedback = judged_examples(settings, shape), feedback_examples(settings, shape)
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=min(settings.train_batch_size, shape.train) + shape.parameters,
        evaluations=feedback + judged,
        idle_evaluations=0,
        start=judged,
    )


def advise(settings: Settings, shape: TaskShape) -> list[str]:
    """Say how few updates a budget of calls buys, beside what is said of any search."""
    found = of_search(settings, shape)
    batch = settings.narrowed(shape.budget, parameters=shape.parameters).train_batch_size
    each, calls = min(batch, shape.train) + shape.parameters, shape.budget.llm_calls
    if calls is None or calls // each >= FEW:
        return found
    bought = f"{calls} calls buy {calls // each} updates of {each} calls each, one for each example of the batch and each parameter"
    return [*found, bought]
