"""`Autoresearch`: hypothesis, edit, run, decision; kept or reverted, and on to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tracebench_autoresearch.edits.files import UnusableEdit
from tracebench_autoresearch.trainer.agent import run_agent
from tracebench_autoresearch.trainer.bench import Bench
from tracebench_autoresearch.trainer.judging import Greedy, NoiseAware, Rule, Ruling
from tracebench_autoresearch.trainer.proposing import Agent, Proposer
from tracebench_autoresearch.trainer.settings import AutoresearchSettings
from tracebench_autoresearch.trainer.workspace import Workspace
from tracebench_core.contracts import Problem
from tracebench_core.errors import BudgetExhausted
from tracebench_core.ids import canonical_json
from tracebench_core.proposing.rendering import score_text
from tracebench_core.specs import Candidate, Evaluation, Values


@dataclass(slots=True)
class _State:
    """Where the loop stands."""

    kept: Candidate
    tried: list[str] = field(default_factory=list)
    """One line for each experiment, oldest first."""
    last: str = ""
    """What came of the last experiment, in full."""
    seen: set[bytes] = field(default_factory=set)


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
        workspace, proposer, rule = Workspace(bench.parameters), Proposer(bench, self.settings, agent), self._rule()
        with bench.step():
            state = self._baseline(bench, rule)
        for _ in range(self.settings.num_experiments):
            with bench.step():
                self._experiment(bench, workspace, proposer, rule, state)
        return state.tried

    def _rule(self) -> Rule:
        settings = self.settings
        if settings.accept == "greedy":
            return Greedy(min_gain=settings.min_gain)
        return NoiseAware(alpha=settings.false_acceptance, max_repeats=settings.max_repeats, min_gain=settings.min_gain)

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
        evaluation = problem.evaluate(values, parents=[state.kept], origin=proposal.hypothesis)
        ruling = self._decide(problem, rule, evaluation, state.kept.values)
        problem.log("runs", ruling.runs)
        if ruling.verdict == "accepted":
            state.kept = evaluation.candidate
        state.tried.append(
            f"{ruling.verdict}: {proposal.hypothesis} (score {score_text(evaluation.score)}; {ruling.reason})"
        )
        state.last = f"{proposal.hypothesis}\n{ruling.verdict}: {ruling.reason}\n{_words(evaluation)}"

    @staticmethod
    def _decide(problem: Bench, rule: Rule, evaluation: Evaluation, kept: Values) -> Ruling:
        """Decide on a measured edit, measuring again as the rule wants it, and record the verdict; also when the budget ends amid it."""
        candidate = evaluation.candidate
        if evaluation.score is None:
            failed = evaluation.status != "not_measured"
            ruling = Ruling("rejected" if failed else "indecisive", _words(evaluation).partition("\n")[0], 1)
        else:
            try:
                ruling = rule.judge(
                    evaluation.score,
                    lambda: problem.evaluate(candidate.values, repeat=True).score,
                    lambda: problem.evaluate(kept, repeat=True).score,
                )
            except BudgetExhausted:
                problem.decide(candidate, "indecisive", "the budget ended before it could be told from noise")
                raise
        problem.decide(candidate, ruling.verdict, ruling.reason)
        return ruling


def _words(evaluation: Evaluation) -> str:
    return "\n".join(result.feedback.text for result in evaluation.results if result.feedback.text)
