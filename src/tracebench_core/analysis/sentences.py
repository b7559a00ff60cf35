"""A comparison in sentences: who is better, by how much, how sure it is, and what would decide what is open."""

from __future__ import annotations

from tracebench_core.analysis.budgets import unequal_uses
from tracebench_core.analysis.verdicts import Comparison, PairVerdict
from tracebench_core.specs import Axis

POLICY = {
    "initial": "counts as its task's initial score",
    "worst": "counts as its task's lowest score",
    "exclude": "counts for nothing",
}


def verdict_sentence(comparison: Comparison) -> str:
    """Return the verdict in one sentence; where nothing is resolved it says so."""
    entrants = [s.standing.entrant for s in comparison.summaries if s.standing.interval is not None]
    if len(entrants) < 2:  # noqa: PLR2004 - a comparison needs two
        return f"Nothing to compare: {entrants[0] if entrants else 'no entrant'} alone has scores."
    if comparison.baseline is not None:
        return _against_baseline(comparison)
    leader = entrants[0]
    beaten: list[str] = []
    open_: list[str] = []
    for other in entrants[1:]:
        pair = comparison.pair(leader, other)
        (beaten if pair is not None and pair.verdict == "better" else open_).append(other)
    where = _where(comparison)
    nearest = comparison.pair(leader, entrants[1])
    if not open_ and nearest is not None:
        margin = f"by {_amount(nearest)}"
        if len(beaten) == 1:
            return f"{leader} is better than {beaten[0]} {margin}, {where}."
        return f"{leader} is better than each of the others, ahead of {entrants[1]} {margin}, {where}."
    if not beaten:
        return f"Not resolved: {leader} leads, but no difference from the others is clear, {where}."
    return f"{leader} is better than {_list(beaten)}; against {_list(open_)} it is not resolved, {where}."


def next_step(comparison: Comparison) -> str | None:
    """Return what would likely decide between the leader and the first entrant it is not resolved against; None when all is decided."""
    entrants = [s.standing.entrant for s in comparison.summaries if s.standing.interval is not None]
    for other in entrants[1:]:
        pair = comparison.pair(entrants[0], other)
        if pair is None or pair.verdict in {"better", "worse", "equal"}:
            continue
        return _more_seeds(comparison, pair)
    return None


def remarks(comparison: Comparison, axis: Axis = "evaluations") -> list[str]:
    """Return what a reader has to know beside the tables: how it was cut, counted and pooled, and what weakens it."""
    said = []
    if comparison.cut is not None:
        caps = ", ".join(f"{value:g} {name}" for name, value in comparison.cut.caps().items())
        said.append(f"Cut at {caps}: {comparison.cut_why}.")
    said += [f"{str(finding)[0].upper()}{str(finding)[1:]}." for finding in comparison.findings]
    for run, n in comparison.unfinished.items():
        said.append(f"{run}: {n} {'job has' if n == 1 else 'jobs have'} no result yet; they count for nothing.")
    if repeated := comparison.outcomes.repeated:
        said.append(
            f"{repeated} {'job is' if repeated == 1 else 'jobs are'} in several runs: the last run's result counts."
        )
    if failed := sum(s.failed for s in comparison.summaries):
        said.append(
            f"{failed} {'job' if failed == 1 else 'jobs'} ended without a score; each {POLICY[comparison.policy]}."
        )
    said += [_stuck_sentence(name, *counts) for name, counts in _stuck(comparison).items()]
    said += unequal_use(comparison, axis)
    seeds = [len(p) for pair in comparison.pairs for p in pair.difference.pairs]
    if seeds and min(seeds) == 1:
        said.append("A task with one seed has no measured spread: no difference is claimed on it.")
    return said


def _stuck(comparison: Comparison) -> dict[str, tuple[int, int]]:
    """Return by entrant how many of its jobs stayed at the initial score, out of how many, where most of them did better."""
    found = {}
    for name in comparison.outcomes.entrants:
        measured = [o for o in comparison.outcomes.of(name) if o.value is not None and o.initial is not None]
        stuck = sum(o.value <= o.initial for o in measured if o.value is not None and o.initial is not None)
        if 0 < stuck < len(measured) / 2:
            found[name] = (stuck, len(measured))
    return found


def _stuck_sentence(name: str, stuck: int, of: int) -> str:
    jobs = "job" if stuck == 1 else "jobs"
    return (
        f"{stuck} {jobs} of {of} of {name} did not improve: how often that happens few seeds cannot tell, so its mean's interval is "
        "too narrow on a single task; read the IQM and the paired differences."
    )


def unequal_use(comparison: Comparison, axis: Axis = "evaluations") -> list[str]:
    """Return the warning that entrants used an axis unequally, or nothing."""
    uses = {s.standing.entrant: s.use for s in comparison.summaries}
    if (unequal := unequal_uses(uses, axis)) is None:
        return []
    least, most, ratio = unequal
    at = getattr(uses[least], axis)
    return [f"Unequal use: {most} used {ratio:.1f} times the {axis} of {least}; `--at {at:.6g}` compares at equal use."]


def _against_baseline(comparison: Comparison) -> str:
    by_verdict = {v: [p.one for p in comparison.pairs if p.verdict == v] for v in ("better", "worse")}
    parts = [f"{_list(names)} {'is' if len(names) == 1 else 'are'} {v}" for v, names in by_verdict.items() if names]
    rest = [p.one for p in comparison.pairs if p.verdict not in by_verdict]
    parts += [f"{_list(rest)} {'is' if len(rest) == 1 else 'are'} not resolved"] if rest else []
    return f"Against {comparison.baseline}: {'; '.join(parts) or 'nothing to compare'}, {_where(comparison)}."


def _more_seeds(comparison: Comparison, pair: PairVerdict) -> str:
    names = f"{pair.one} and {pair.other}"
    present = min(map(len, pair.difference.pairs))
    if pair.decision is not None:
        if pair.decision.verdict == "not resolved":
            return f"{names}: not resolved at the plan's last seed; the design ends here."
        more = pair.decision.more
        if more is None:
            return f"{names}: the plan's remaining seeds will likely not decide; stop, or plan for more beforehand."
    else:
        needed = pair.resolution.seeds_needed if pair.resolution is not None else None
        if pair.difference.interval.estimate == 0:
            return f"{names} scored alike: no number of seeds tells them apart unless they come to differ."
        if needed is None:
            return f"{names}: more seeds are needed to learn their spread."
        more = max(1, needed - present)
    smallest = pair.resolution.smallest if pair.resolution is not None else None
    able = "" if smallest is None else f" {present} seeds resolve {smallest:.3g}."
    return f"{names}: {more} more {'seed' if more == 1 else 'seeds'} per task{_cost(comparison, pair, more)} would likely decide.{able}"


def _cost(comparison: Comparison, pair: PairVerdict, seeds: int) -> str:
    uses = {s.standing.entrant: s.use.usd for s in comparison.summaries}
    one, other = uses.get(pair.one), uses.get(pair.other)
    if one is None or other is None:
        return " (cost unknown)"
    usd = (one + other) * seeds * len(pair.difference.pairs)
    return f" (USD {usd:.2f})" if usd else ""


def _where(comparison: Comparison) -> str:
    tasks = len(comparison.tasks)
    seeds = sorted({len(p) for pair in comparison.pairs for p in pair.difference.pairs})
    spread = (
        "no common seeds"
        if not seeds
        else f"{seeds[0]} seeds"
        if seeds[0] == seeds[-1]
        else f"{seeds[0]}-{seeds[-1]} seeds"
    )
    return f"on {tasks} {'task' if tasks == 1 else 'tasks'} with {spread.replace('1 seeds', '1 seed') if spread == '1 seeds' else spread}"


def _amount(pair: PairVerdict) -> str:
    interval = pair.difference.interval
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.3g}"
    return f"{interval.estimate:.3g} [{interval.low:.3g}, {interval.high:.3g}]"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
