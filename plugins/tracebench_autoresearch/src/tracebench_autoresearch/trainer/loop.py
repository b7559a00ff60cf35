"""`Autoresearch`: hypothesis, edit, run, decision; kept or reverted, and on to the next."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial

from tracebench_autoresearch.edits.files import UnusableEdit
from tracebench_autoresearch.trainer.agent import run_agent
from tracebench_autoresearch.trainer.bench import Bench
from tracebench_autoresearch.trainer.confirming import KeptEdit, confirm
from tracebench_autoresearch.trainer.judging import Greedy, PairedTrial, Rule, Ruling
from tracebench_autoresearch.trainer.proposing import Agent, Proposer
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_autoresearch.trainer.workspace import Workspace
from tracebench_core.contracts import Problem
from tracebench_core.errors import BudgetExhausted
from tracebench_core.ids import canonical_json
from tracebench_core.proposing.rendering import score_text
from tracebench_core.specs import Candidate, Evaluation, Values

DRIFT = "drift"
"""Name of the number that is logged after each experiment: the evidence that what is kept does not go on measuring the same."""
log = logging.getLogger(__name__)


@dataclass(slots=True)
class _State:
    """Where the loop stands."""

    kept: Candidate
    tried: list[str] = field(default_factory=list)
    """One line for each experiment, oldest first."""
    last: str = ""
    """What came of the last experiment, in full."""
    seen: set[bytes] = field(default_factory=set)
    edits: list[KeptEdit] = field(default_factory=list)
    """What was kept, oldest first."""
    drifts: bool = False
    """Whether a drift was said."""


class Autoresearch:
    """Runs the loop; see the module."""

    def __init__(self, settings: AutoresearchSettings) -> None:
        self.settings = settings

    def train(self, problem: Problem) -> None:
        """Measure the initial files, then try one edit after another.

        Raises:
            BudgetExhausted: when a cap is reached.
            NotApplicableError: when the task's parameters are no files.
        """
        self.research(problem, partial(run_agent, problem, self.settings) if self.settings.agent else None)

    def research(self, bench: Bench, agent: Agent | None = None) -> list[str]:
        """Do the same on anything that measures; return one line for each experiment, oldest first."""
        workspace, proposer, rule = (
            Workspace(bench.parameters),
            Proposer(bench, self.settings, agent),
            self._rule(bench),
        )
        with bench.step():
            state = self._baseline(bench, rule)
        for _ in range(self.settings.num_experiments):
            with bench.step():
                self._experiment(bench, workspace, proposer, rule, state)
        if state.edits and self.settings.confirm and isinstance(rule, PairedTrial):
            rounds, alpha = self.settings.confirm, self.settings.false_acceptance
            log.info("%s", confirm(bench, workspace, state.edits, bench.rng, rounds=rounds, alpha=alpha))
        return state.tried

    def _rule(self, bench: Bench) -> Rule:
        settings = self.settings
        if settings.accept == "greedy":
            return Greedy(min_gain=settings.min_gain)
        return PairedTrial(
            bench.rng,
            experiments=settings.num_experiments,
            false_acceptance=settings.false_acceptance,
            max_repeats=settings.max_repeats,
            min_gain=settings.min_gain,
        )

    def _baseline(self, problem: Bench, rule: Rule) -> _State:
        repeats = self.settings.baseline_repeats if self.settings.accept == "noise_aware" else 1
        first = problem.evaluate(problem.initial, origin="baseline")
        more = [problem.evaluate(problem.initial, origin="baseline", repeat=True) for _ in range(repeats - 1)]
        rule.start([e.score for e in (first, *more) if e.score is not None])
        seen = {canonical_json(problem.initial)}
        return _State(first.candidate, [f"baseline: {score_text(first.score)}"], _words(first), seen)

    def _experiment(self, problem: Bench, workspace: Workspace, proposer: Proposer, rule: Rule, state: _State) -> None:
        proposal = proposer.propose(workspace.files(state.kept.values), tried=state.tried, last=state.last)
        if proposal is None:
            return
        try:
            values = workspace.values(proposal.files, state.kept.values)
        except UnusableEdit as err:
            proposer.refuse(str(err))
            return
        if reason := problem.check(values):
            proposer.refuse(reason.rstrip("."))
            return
        key = canonical_json(values)
        if key in state.seen:
            proposer.refuse("these very files were measured before", duplicate=True)
            return
        state.seen.add(key)
        problem.count_proposals(asked=1, usable=1)
        arm = _Arm(problem, values, state.kept, proposal.hypothesis)
        ruling = self._decide(problem, rule, arm)
        problem.log("runs", ruling.runs)
        evaluation = arm.first
        if ruling.verdict == "accepted":
            state.edits.append(KeptEdit(evaluation.candidate, state.kept.values))
            state.kept = evaluation.candidate
        if isinstance(rule, PairedTrial):
            self._watch(problem, rule, state)
        state.tried.append(
            f"{ruling.verdict}: {proposal.hypothesis} (score {score_text(evaluation.score)}; {ruling.reason})"
        )
        state.last = f"{proposal.hypothesis}\n{ruling.verdict}: {ruling.reason}\n{_words(evaluation)}"

    @staticmethod
    def _decide(problem: Bench, rule: Rule, arm: _Arm) -> Ruling:
        """Decide on an edit, measuring as the rule wants it, and record the verdict; also when the budget ends amid it."""
        try:
            ruling = rule.judge(arm.edit, arm.kept)
        except BudgetExhausted:
            if arm.seen:
                problem.decide(arm.first.candidate, "indecisive", "the budget ended before it could be told from noise")
            raise
        if arm.failure:
            ruling = Ruling("indecisive" if arm.is_unmeasured else ruling.verdict, arm.failure, ruling.runs)
        problem.decide(arm.first.candidate, ruling.verdict, ruling.reason)
        return ruling

    @staticmethod
    def _watch(problem: Bench, rule: PairedTrial, state: _State) -> None:
        """Say once that the machine drifts."""
        problem.log(DRIFT, rule.drift.evidence)
        if rule.drift.is_seen and not state.drifts:
            state.drifts = True
            log.warning("what is kept does not go on measuring the same: evidence %.3g", rule.drift.most)


class _Arm:
    """An edit and what it would replace, as a rule measures them."""

    def __init__(self, problem: Bench, values: Values, kept: Candidate, hypothesis: str) -> None:
        self._problem, self._values, self._kept, self._hypothesis = problem, values, kept, hypothesis
        self.seen: list[Evaluation] = []
        """Measurements of the edit."""

    @property
    def first(self) -> Evaluation:
        """The first of them."""
        return self.seen[0]

    @property
    def failure(self) -> str:
        """Why the last of them has no score; nothing where it has."""
        last = self.seen[-1]
        if last.score is not None:
            return ""
        words = _words(last).partition("\n")[0]
        return f"{words}, after {len(self.seen) - 1}" if len(self.seen) > 1 else words

    @property
    def is_unmeasured(self) -> bool:
        """Say whether that was the machine's doing, not the edit's."""
        return self.seen[-1].status == "not_measured"

    def edit(self) -> float | None:
        """Measure the edit."""
        again = bool(self.seen)
        self.seen.append(
            self._problem.evaluate(self._values, parents=[self._kept], origin=self._hypothesis, repeat=again)
        )
        return self.seen[-1].score

    def kept(self) -> float | None:
        """Measure what it would replace."""
        return self._problem.evaluate(self._kept.values, repeat=True).score


def _words(evaluation: Evaluation) -> str:
    return "\n".join(result.feedback.text for result in evaluation.results if result.feedback.text)
