"""Beam search over candidates, with or without a history of what was tried shown to the proposer."""

from __future__ import annotations

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.sampling import draw_subset
from tracebench_core.specs import Budget, CostEstimate, Evaluation, TaskShape
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.racing import Lot, RacingSettings, race, raced
from tracebench_opto.parts.scarcity import Variant, breadth
from tracebench_opto.parts.search import Request, Search


class BeamSettings(RacingSettings):
    """Settings of beam searches. One step is one depth of the search."""

    beam_width: int = Field(default=3, ge=1)
    """Candidates that survive a depth."""
    variant: Variant = "budget"
    """`budget` narrows steps where calls are scarce; `paper` keeps the published breadth."""
    num_proposals: int | None = Field(default=None, ge=1)
    """Proposals for each beam. When None: 4, and fewer where calls are so scarce that they would buy fewer than 20 steps (`variant`)."""
    validation_dataset_size: int | None = Field(default=5, ge=1)
    """Examples on which the candidates of one depth are compared, drawn anew for each depth; None for all."""

    def broad(self, budget: Budget) -> int:
        """Return how many proposals each beam gets."""
        return breadth(budget, self.variant, (self.beam_width, self.beam_width), (self.num_proposals, 4))[1]


def run_beams(problem: Problem, settings: BeamSettings, *, history_size: int = 0) -> None:
    """Run a beam search; with a history, the proposer sees the best `history_size` candidates instead of the ancestors."""
    search = Search(problem, settings)
    beams: list[Entry] = []
    for _ in search.schedule():
        with problem.step():
            contest = draw_subset(search.selection, settings.validation_dataset_size, rng=problem.rng)
            beams = beams or search.seeds()[: settings.beam_width]
            found = list(beams)
            requests = [
                Request(
                    beam,
                    search.measure(beam, search.batches.draw()),
                    _history(search, beam, size=history_size) if history_size else None,
                )
                for beam in beams
            ]
            proposed = search.propose_all(requests, n=settings.broad(problem.budget.caps))
            lots: list[Lot] = []
            for beam, values in zip(beams, proposed, strict=True):
                met = [child for _, children in lots for child in children]
                lots.append((beam, [child for child in search.fresh(values) if child not in met]))
            if settings.racing:
                found += race(search, lots, contest, origin="expand")
            else:
                for beam, children in lots:
                    found += search.evaluate(children, contest, parent=beam, origin="expand")
            for beam in beams:
                search.measure(beam, contest)
            beams = search.archive.ranked(found, examples=contest)[: settings.beam_width]
            for beam in beams[:1]:
                search.measure(beam, search.selection)


def estimate_beams(settings: BeamSettings, shape: TaskShape) -> CostEstimate:
    """Return what one job of a beam search is expected to use."""
    judged = judged_examples(settings, shape)
    contest = min(settings.validation_dataset_size or judged, judged)
    proposals = settings.beam_width * settings.broad(shape.budget)
    idle = settings.beam_width * feedback_examples(settings, shape)
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=proposals,
        evaluations=idle + proposals * contest + judged,
        idle_evaluations=idle,
        start=judged,
        saved=proposals * contest - raced(settings, examples=contest, runners=proposals),
    )


def _history(search: Search, beam: Entry, *, size: int) -> list[Evaluation]:
    """Return evaluations of the best other candidates, worst first: what comes last weighs most with a model (OPRO)."""
    others = [e for e in search.archive.ranked() if e is not beam and e.mean() is not None]
    return [e.evaluations[-1] for e in reversed(others[:size])]
