"""`Autoresearch`: hypothesis, edit, run, decision; kept or reverted, and on to the next."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from tracebench_autoresearch.edits.files import UnusableEdit
from tracebench_autoresearch.edits.reverting import without
from tracebench_autoresearch.trainer.agent import run_agent
from tracebench_autoresearch.trainer.arm import Arm, said_of
from tracebench_autoresearch.trainer.bench import Bench
from tracebench_autoresearch.trainer.confirming import KeptEdit, confirm
from tracebench_autoresearch.trainer.judging import Greedy, PairedTrial, Rule, Ruling, Verdict
from tracebench_autoresearch.trainer.proposing import Agent, Proposer
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_autoresearch.trainer.side_by_side import Ask, Runner, batched, measured, race
from tracebench_autoresearch.trainer.workspace import Workspace
from tracebench_core.contracts import Problem
from tracebench_core.errors import BudgetExhausted
from tracebench_core.ids import canonical_json
from tracebench_core.proposing.rendering import score_text
from tracebench_core.specs import Candidate

DRIFT = "drift"
"""Name of the number that is logged after each experiment: the evidence that what is kept does not go on measuring the same."""
log = logging.getLogger(__name__)


_CUT_SHORT = "the budget ended before it could be told from noise"


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An edit that is to be tried again on what was kept before it could be told from noise."""

    before: dict[str, str]
    after: dict[str, str]
    hypothesis: str


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
    waiting: list[_Waiting] = field(default_factory=list)
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
        left, together = self.settings.num_experiments, self.settings.side_by_side
        while left:
            with bench.step():
                if together > 1 and isinstance(rule, PairedTrial) and rule.measures:
                    self._race(bench, workspace, proposer, rule, state, most=min(left, together))
                    left -= min(left, together)
                else:
                    self._experiment(bench, workspace, proposer, rule, state)
                    left -= 1
        if state.edits and self.settings.confirm and isinstance(rule, PairedTrial):
            rounds, alpha = self.settings.confirm, self.settings.false_acceptance
            found = confirm(bench, workspace, state.edits, bench.rng, rounds=rounds, alpha=alpha, together=together)
            log.info("%s", found)
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
        asks = [Ask(problem.initial, origin="baseline")] * (repeats - 1)
        more = [e for part in batched(asks, self.settings.side_by_side) for e in measured(problem, part)]
        rule.start([e.score for e in (first, *more) if e.score is not None])
        seen = {canonical_json(problem.initial)}
        return _State(first.candidate, [f"baseline: {score_text(first.score)}"], said_of(first), seen)

    def _experiment(self, problem: Bench, workspace: Workspace, proposer: Proposer, rule: Rule, state: _State) -> None:
        if (arm := self._next(problem, workspace, proposer, state)) is None:
            return
        ruling = self._decide(problem, rule, arm)
        self._take(problem, state, arm, ruling)
        if isinstance(rule, PairedTrial):
            self._watch(problem, rule, state)

    def _race(
        self,
        problem: Bench,
        workspace: Workspace,
        proposer: Proposer,
        rule: PairedTrial,
        state: _State,
        *,
        most: int,
    ) -> None:
        """Ask for so many edits of what is kept, and try them side by side."""
        arms: list[Arm] = []
        for _ in range(most):
            if (arm := self._next(problem, workspace, proposer, state, under_way=arms)) is not None:
                arms.append(arm)
        runners, before = [Runner(arm, rule.contest()) for arm in arms], workspace.files(state.kept.values)
        try:
            race(problem, rule, runners, halve_after=self.settings.halve_after)
        except BudgetExhausted:
            for runner in runners:
                if runner.arm.seen:
                    ruling = runner.ruling or Ruling("indecisive", _CUT_SHORT, runner.contest.runs)
                    problem.decide(runner.arm.first.candidate, *_told(runner.arm, ruling))
            raise
        has_winner = any(one.ruling is not None and one.ruling.verdict == "accepted" for one in runners)
        for runner in runners:
            if runner.ruling is None:
                raise AssertionError("a race ends with a ruling for each")
            verdict, reason = _told(runner.arm, runner.ruling)
            problem.decide(runner.arm.first.candidate, verdict, reason)
            if verdict == "accepted":
                rule.keep()
            elif has_winner and runner.is_outrun and runner.contest.evidence > 1:
                state.waiting.append(_Waiting(before, workspace.files(runner.arm.values), runner.arm.hypothesis))
            self._take(problem, state, runner.arm, Ruling(verdict, reason, runner.ruling.runs))
        self._watch(problem, rule, state)

    def _next(
        self, problem: Bench, workspace: Workspace, proposer: Proposer, state: _State, *, under_way: Sequence[Arm] = ()
    ) -> Arm | None:
        """Return the next edit of what is kept; None where what was proposed cannot be measured."""
        if state.waiting:
            return self._again(problem, workspace, state, state.waiting.pop(0))
        tried = [*state.tried, *(f"under way: {arm.hypothesis}" for arm in under_way)]
        proposal = proposer.propose(workspace.files(state.kept.values), tried=tried, last=state.last)
        if proposal is None:
            return None
        try:
            values = workspace.values(proposal.files, state.kept.values)
        except UnusableEdit as err:
            proposer.refuse(str(err))
            return None
        key = canonical_json(values)
        if reason := problem.check(values) or ("these very files were measured before" if key in state.seen else ""):
            proposer.refuse(reason.rstrip("."), duplicate=key in state.seen)
            return None
        state.seen.add(key)
        problem.count_proposals(asked=1, usable=1)
        return Arm(problem, values, state.kept, proposal.hypothesis)

    @staticmethod
    def _again(problem: Bench, workspace: Workspace, state: _State, edit: _Waiting) -> Arm | None:
        """Return an edit of what was kept before, made on what is kept now; None where it does not fit, or is in it already."""
        files = without(workspace.files(state.kept.values), before=edit.after, after=edit.before)
        values = None if files is None else workspace.values(files, state.kept.values)
        if values is None or problem.check(values) or canonical_json(values) in state.seen:
            state.tried.append(f"not tried again: {edit.hypothesis} (it does not fit what is kept now)")
            return None
        state.seen.add(canonical_json(values))
        return Arm(problem, values, state.kept, edit.hypothesis)

    @staticmethod
    def _take(problem: Bench, state: _State, arm: Arm, ruling: Ruling) -> None:
        """Take a ruling into the minutes, and an edit that was accepted for what is kept."""
        problem.log("runs", ruling.runs)
        evaluation = arm.first
        if ruling.verdict == "accepted":
            state.edits.append(KeptEdit(evaluation.candidate, state.kept.values))
            state.kept = evaluation.candidate
        state.tried.append(
            f"{ruling.verdict}: {arm.hypothesis} (score {score_text(evaluation.score)}; {ruling.reason})"
        )
        state.last = f"{arm.hypothesis}\n{ruling.verdict}: {ruling.reason}\n{said_of(evaluation)}"

    @staticmethod
    def _decide(problem: Bench, rule: Rule, arm: Arm) -> Ruling:
        """Decide on an edit, measuring as the rule wants it, and record the verdict; also when the budget ends amid it."""
        try:
            ruling = rule.judge(arm.edit, arm.kept)
        except BudgetExhausted:
            if arm.seen:
                problem.decide(arm.first.candidate, "indecisive", _CUT_SHORT)
            raise
        verdict, reason = _told(arm, ruling)
        problem.decide(arm.first.candidate, verdict, reason)
        return Ruling(verdict, reason, ruling.runs)

    @staticmethod
    def _watch(problem: Bench, rule: PairedTrial, state: _State) -> None:
        """Say once that the machine drifts."""
        problem.log(DRIFT, rule.drift.evidence)
        if rule.drift.is_seen and not state.drifts:
            state.drifts = True
            log.warning("what is kept does not go on measuring the same: evidence %.3g", rule.drift.most)


def _told(arm: Arm, ruling: Ruling) -> tuple[Verdict, str]:
    """Return the verdict and its reason: of an edit that failed, how."""
    if not arm.failure:
        return ruling.verdict, ruling.reason
    return "indecisive" if arm.is_unmeasured else ruling.verdict, arm.failure
