"""AggregatedUpdate: one proposal for each example of a batch, merged into one candidate by a second call to the model.

Source: the idea of OpenTrace's `opto.trainer.algorithms.aggregator.AggregatedUpdate`, which does not run in the
builds that ship it. What differs, and why: the merged candidate must improve on the batch, or the current one stays
(`ensure_improvement`), because an average of good changes need not be one; a merge that cannot be read falls back to
the best of the single proposals, so that no call is spent in vain.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.answer_format import ANSWER_FORMAT, describe, render_values
from tracebench_core.proposing.intake import Intake
from tracebench_core.proposing.replies import UnreadableReply, read_reply
from tracebench_core.specs import CostEstimate, Example, Message, TaskShape, Values
from tracebench_opto.parts.acceptance import accept
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.search import Request, Search
from tracebench_opto.parts.updating import TestedSettings, test_words

SYSTEM = f"""\
Several editors each improved the parameters of a program for one example of their own. Merge their proposals into one set of values that
keeps what helps in general and drops what helps one example only.

{ANSWER_FORMAT}"""


class Settings(TestedSettings):
    """Settings of AggregatedUpdate."""

    stepsize: float = Field(default=0.5, ge=0, le=1)
    """How far the merge may move from the current values: 0 not at all, 1 as far as the proposals go. Told to the model in words."""
    ensure_improvement: bool = True
    """Go back to the current candidate when the merged one is no better on the batch."""
    improvement_threshold: float = Field(default=0.0, ge=0)


@dataclass(frozen=True, slots=True)
class AggregatedUpdate:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the updates."""
        cfg = self.settings
        search = Search(problem, cfg)
        intake = Intake(problem)
        current: Entry | None = None
        for index in search.schedule():
            with problem.step():
                batch = search.batches.draw()
                current = current or search.seed()
                on = search.test_set(batch, cfg.variant)
                child = self._child(search, current, batch, on=on, intake=intake)
                if child is not None:
                    better = accept(
                        problem,
                        search.measure(child, on),
                        search.measure(current, on),
                        goal=search.archive.goal,
                        threshold=cfg.improvement_threshold,
                        always=not cfg.ensure_improvement,
                        what=test_words("batch", batch, on),
                    )
                    current = child if better else current
                if cfg.test_frequency and (index + 1) % cfg.test_frequency == 0:
                    search.measure(current, search.selection)

    def _child(
        self, search: Search, current: Entry, batch: Sequence[Example], *, on: Sequence[Example], intake: Intake
    ) -> Entry | None:
        search.measure(current, batch)
        requests = [Request(current, search.measure(current, [example])) for example in batch]
        proposed = search.propose_all(requests, n=1)
        proposals = search.fresh([values for found in proposed for values in found], known=[current])
        merged = self._merge(search, current, proposals, intake=intake) if len(proposals) > 1 else proposals
        found = search.attempt(merged or proposals, on, parent=current, origin="aggregate")
        return search.archive.ranked(found, examples=on)[0] if found else None

    def _merge(self, search: Search, current: Entry, proposals: Sequence[Values], *, intake: Intake) -> list[Values]:
        """Return the model's merge of the proposals, or nothing when there is none that may be evaluated."""
        problem = search.problem
        shown = "\n".join(f"{i}. {json.dumps(values, sort_keys=True)}" for i, values in enumerate(proposals, 1))
        content = (
            f"# Objective\n{problem.objective}\n\n# Parameters\n{describe(problem.parameters)}\n\n"
            f"# Current values\n{render_values(current.candidate.values)}\n\n# Proposals\n{shown}\n\n"
            f"Move about {self.settings.stepsize:.0%} of the way from the current values to what the proposals agree on."
        )
        messages: list[Message] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]
        suggestion: dict[str, Any] = {}
        for reply in search.ask([messages]):
            if reply is None:
                continue
            try:
                suggestion = read_reply(reply, problem.parameters)
            except UnreadableReply as err:
                intake.malformed(str(err))
        values = intake.take(current.candidate.values, suggestion) if suggestion else None
        return search.fresh([values], known=[current]) if values is not None else []


def build(settings: Settings) -> AggregatedUpdate:
    """Return the trainer."""
    return AggregatedUpdate(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    batch = min(settings.train_batch_size, shape.train)
    judged, feedback = judged_examples(settings, shape), feedback_examples(settings, shape)
    checks = judged / settings.test_frequency if settings.test_frequency else 0
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=batch + 1 if batch > 1 else 1,
        evaluations=feedback + batch + checks,
        idle_evaluations=feedback,
        start=judged,
    )
