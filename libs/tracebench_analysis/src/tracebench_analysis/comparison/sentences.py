"""A comparison in sentences: who is better, by how much, how sure it is, and what would decide what is open."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from tracebench_analysis.comparison.budgets import NOT_RUN_AGAIN, as_cap, unequal_uses
from tracebench_analysis.comparison.outcomes import ENDED, Outcome, unscored
from tracebench_analysis.comparison.settling import more_seeds, open_pair, settling
from tracebench_analysis.comparison.verdicts import ALPHA, Comparison, PairVerdict
from tracebench_analysis.statistics.differences import Scores
from tracebench_analysis.statistics.floor import UNCHANGING
from tracebench_analysis.statistics.intervals import LEAST, variance
from tracebench_core.specs import Axis
from tracebench_runs.reading.reader import Run

POLICY = {
    "initial": "counts as its task's initial score",
    "worst": "counts as its task's lowest score",
    "exclude": "counts for nothing",
}

CLEAR = 0.001
"""Against what never varies, a difference at this level is as sure as 5 % elsewhere, for the skewest scores that were simulated."""
CAUSE = 300
"""Characters of an error that are shown."""
SHOWN = 3
"""Pairs of which a remark is made one by one."""


def verdict_sentence(comparison: Comparison) -> str:
    """Return the verdict in one sentence; where nothing is resolved it says so, and where jobs failed, of whom."""
    entrants = [s.standing.entrant for s in comparison.summaries if s.standing.interval is not None]
    if not entrants:
        return f"Nothing to compare, for nobody has a score: {_how(comparison.outcomes.outcomes, '')}."
    blank = comparison.without_scores()
    said = [f"nothing can be said about {name}: {_how(own)}" for name, own in [*blank.items()][:SHOWN]]
    said += [f"nor about {len(blank) - SHOWN} more without a score"] if len(blank) > SHOWN else []
    partly = [(name, own, lost) for name in entrants if (lost := unscored(own := comparison.outcomes.of(name)))]
    if len(partly) > SHOWN:
        total = sum(len(lost) for _, _, lost in partly)
        partly = []
        said.append(f"{total} jobs of these trainers ended without a score, each of which {POLICY[comparison.policy]}")
    said += [
        f"{len(lost)} of {len(own)} jobs of {name} ended without a score, {_each(lost)} {POLICY[comparison.policy]}"
        for name, own, lost in partly
    ]
    return "; ".join([_verdict(comparison, entrants).removesuffix("."), *said]) + "."


def first_failures(comparison: Comparison) -> list[Outcome]:
    """Return the first job without a score of each entrant that has none at all, or, where all have some, the first of anybody's."""
    first = [next((o for o in own if o.status in ENDED), None) for own in comparison.without_scores().values()]
    found = [o for o in first if o is not None]
    return found[:SHOWN] or unscored(comparison.outcomes.outcomes)[:1]


def _each(lost: Sequence[Outcome]) -> str:
    return "which" if len(lost) == 1 else "each of which"


def _how(outcomes: Sequence[Outcome], whose: str = "its ") -> str:
    """Return what became of jobs of which none has a score."""
    n, counts = len(outcomes), Counter(o.status for o in outcomes)
    if counts["failed"] == n:
        many = f"both {whose}jobs failed" if n == 2 else f"all {whose}{n} jobs failed"  # noqa: PLR2004 - so one says two
        return f"{whose or 'the '}only job failed" if n == 1 else many
    told = ", ".join(
        f"{k} {'ended without a score' if status == 'ok' else status.replace('_', ' ')}" for status, k in counts.items()
    )
    return (
        f"{whose or 'the '}only job has no score ({told})"
        if n == 1
        else f"none of {whose or 'the '}{n} jobs has a score ({told})"
    )


def _verdict(comparison: Comparison, entrants: Sequence[str]) -> str:
    if comparison.baseline is not None:
        return _against_baseline(comparison)
    if len(entrants) == 1:
        return f"Nothing to compare: {entrants[0]} alone has scores."
    leader = entrants[0]
    pairs = {other: comparison.pair(leader, other) for other in entrants[1:]}
    met = {other: pair for other, pair in pairs.items() if pair is not None}
    never = [other for other, pair in pairs.items() if pair is None]
    if not met:
        return f"Nothing to compare: {leader} never met {_list(never)}, for on no task do both have a score."
    beaten = [other for other, pair in met.items() if pair.verdict == "better"]
    beaten_by = [other for other, pair in met.items() if pair.verdict == "worse"]
    alike = [other for other, pair in met.items() if pair.verdict == "equivalent"]
    open_ = [other for other in met if other not in {*beaten, *beaten_by, *alike}]
    where, nearest = _where([*met.values()]), next(iter(met))
    margin = f"by {_amount(met[nearest])}"
    parts = []
    if beaten == [*met] and len(beaten) == 1:
        parts.append(f"{leader} is better than {beaten[0]} {margin}, {where}")
    elif beaten == [*met]:
        parts.append(f"{leader} is better than each of the others, ahead of {nearest} {margin}, {where}")
    elif alike == [*met]:
        parts.append(f"No difference that matters between {_list([leader, *alike])}: {_within(comparison)}, {where}")
    elif beaten or alike or beaten_by:
        told = [f"better than {_list(beaten)}"] if beaten else []
        told += [f"equivalent to {_list(alike)} ({_within(comparison)})"] if alike else []
        told += [f"worse than {_list(beaten_by)}"] if beaten_by else []
        rest = f"; against {_list(open_)} it is not resolved" if open_ else ""
        parts.append(f"{leader} is {_list(told)}{rest}, {where}")
    else:
        level = [other for other in open_ if met[other].difference.interval.estimate == 0]
        leaders, lead = _list([leader, *level]), "lead alike" if level else "leads"
        said = f"{leaders} {lead}, but no difference from the others is clear"
        if level == [*met]:
            whole = all(pair.measured >= pair.difference.paired for pair in met.values())
            said = f"{leaders} scored alike" if whole else f"nothing tells {leaders} apart"
        parts.append(f"Not resolved: {said}, {where}")
    parts += [f"it never met {_list(never)}, for on no task do both have a score"] if never else []
    return f"{'; '.join(parts)}."


def next_step(comparison: Comparison) -> str | None:
    """Return what would likely decide between the leader and the first entrant it is not resolved against; None when all is decided."""
    pair = open_pair(comparison)
    return None if pair is None else _more_seeds(comparison, pair)


def what_next(comparison: Comparison, runs: Sequence[Run]) -> str | None:
    """Return what would settle what is open: typed where a command can do it, else in words."""
    typed = settling(comparison, runs) if comparison.baseline is None else None
    return str(typed) if typed is not None and typed.command else next_step(comparison)


def remarks(comparison: Comparison, axis: Axis = "evaluations") -> list[str]:
    """Return what a reader has to know beside the tables: how it was cut, counted and pooled, and what weakens it."""
    said = []
    if comparison.cut is not None:
        caps = ", ".join(f"{value:g} {name}" for name, value in comparison.cut.caps().items())
        said.append(f"Cut at {caps}: {comparison.cut_why}. {NOT_RUN_AGAIN}")
    said += [f"{str(finding)[0].upper()}{str(finding)[1:]}." for finding in comparison.findings]
    said += comparison.outcomes.judged
    for run, n in comparison.unfinished.items():
        said.append(f"{run}: {n} {'job has' if n == 1 else 'jobs have'} no result yet; they count for nothing.")
    if repeated := comparison.outcomes.repeated:
        said.append(
            f"{repeated} {'job is' if repeated == 1 else 'jobs are'} in several runs: the last run's result counts."
        )
    if failed := sum(s.failed for s in comparison.summaries if s.standing.interval is not None):
        said.append(
            f"{failed} {'job' if failed == 1 else 'jobs'} ended without a score; each {POLICY[comparison.policy]}."
        )
    said += _failures(comparison)
    said += _random(comparison)
    said += [_stuck_sentence(name, *counts) for name, counts in _stuck(comparison).items()]
    said += unequal_use(comparison, axis)
    said += [*_apart(comparison), *_unpaired(comparison), *_scales(comparison), *_small(comparison)]
    said += _against_constants(comparison)
    if any(task.variance is None for pair in comparison.pairs for task in pair.difference.tasks):
        said.append("A task with one seed has no measured spread: no difference is claimed on it.")
    return said


def _failures(comparison: Comparison) -> Iterator[str]:
    """Yield the first cause of failures, whose jobs on a task have no score at all, and how many pairs were measured on both sides."""
    for o in first_failures(comparison):
        cause = " ".join(o.error.split())[:CAUSE] or o.stop_reason
        yield f"{o.entrant}: its first job without a score ({o.task}, seed {o.seed}) ended as `{o.status}`: {cause.removesuffix('.')}."
    with_some = {s.standing.entrant for s in comparison.summaries if s.standing.measured}
    blank = [
        f"{s.entrant} on {task.task}"
        for task in comparison.tasks
        for s in task.standings
        if not s.measured and s.jobs and s.entrant in with_some
    ]
    if blank:
        more = f" and {len(blank) - SHOWN} more" if len(blank) > SHOWN else ""
        yield f"Without a single score, so that nothing is compared there: {'; '.join(blank[:SHOWN])}{more}."
    short = [pair for pair in comparison.pairs if pair.measured < pair.difference.paired]
    for pair in short[:SHOWN]:
        yield (
            f"{pair.one} and {pair.other}: of {pair.difference.paired} pairs of a seed {pair.measured} were measured on both sides; in the "
            "others a job that failed counts for what it left."
        )
    if len(short) > SHOWN:
        yield f"{len(short) - SHOWN} more pairs of entrants were not measured on both sides with every seed."


def _random(comparison: Comparison) -> Iterator[str]:
    """Yield the tasks on which winners score otherwise when they are measured again from the same inputs, with the widest spread."""
    for task in comparison.tasks:
        own = [o for o in comparison.outcomes.outcomes if o.task == task.task]
        random = [o for o in own if o.times and min(o.times) != max(o.times)]
        if random:
            widest = max(random, key=lambda o: max(o.times) - min(o.times))
            yield (
                f"{task.task}: in {len(random)} of {len(own)} jobs the winner scores otherwise when it is measured again from the same "
                f"inputs; the mean counts. The widest spread is {min(widest.times):.6g} to {max(widest.times):.6g} in "
                f"{len(widest.times)} measurements, of {widest.entrant}, seed {widest.seed}."
            )


def _apart(comparison: Comparison) -> Iterator[str]:
    """Yield who lacks tasks of the table, and who never met."""
    for summary in comparison.summaries:
        if summary.lacks and summary.standing.interval is not None:
            has = summary.of_tasks - len(summary.lacks)
            yield (
                f"{summary.standing.entrant} has scores on {has} of {summary.of_tasks} tasks of the table (none on "
                f"{_list(list(summary.lacks))}): it stands apart and is not ranked."
            )
    if comparison.baseline is None:
        names = [s.standing.entrant for s in comparison.summaries if s.standing.interval is not None]
        never = [f"{a} and {b}" for a, b in combinations(names, 2) if comparison.pair(a, b) is None]
        if never:
            more = f" and {len(never) - SHOWN} more pairs" if len(never) > SHOWN else ""
            yield f"Never met, for on no task do both have a score: {'; '.join(never[:SHOWN])}{more}."


def _unpaired(comparison: Comparison) -> Iterator[str]:
    """Yield how many scores of a pair have no partner of the same seed."""
    apart = [pair for pair in comparison.pairs if pair.difference.unpaired]
    for pair in apart[:SHOWN]:
        n, paired = pair.difference.unpaired, pair.difference.paired
        yield (
            f"{pair.one} and {pair.other}: {n} {'score has' if n == 1 else 'scores have'} no partner of the same seed; beside {paired} "
            f"{'pair' if paired == 1 else 'pairs'} they count unpaired (Welch; partially overlapping samples)."
        )
    if len(apart) > SHOWN:
        yield f"{len(apart) - SHOWN} more pairs have scores without a partner."


def _scales(comparison: Comparison) -> Iterator[str]:
    """Yield what a standardised difference is, and where the tasks of a resolved or leading pair disagree."""
    if any(pair.difference.scale == "standardised" for pair in comparison.pairs):
        yield (
            "Differences over several tasks are standardised, for not every task declares a target or bounds: 1 is a lead by the same "
            "amount in every pair of seeds, 0 is none. In its own units each task stands in its own table."
        )
    disagreeing = [pair for pair in comparison.pairs if pair.against]
    for pair in disagreeing[:SHOWN]:
        yield f"{pair.one} and {pair.other}: the tasks disagree; on {_list(list(pair.against))} the difference is clear the other way."


def _small(comparison: Comparison) -> Iterator[str]:
    """Yield the pairs that are resolved and nevertheless within the margin."""
    resolved = [p for p in comparison.pairs if p.verdict in {"better", "worse"}]
    small = [p for p in resolved if _is_small(p, comparison.margin)]
    for pair in small[:SHOWN]:
        yield f"{pair.one} and {pair.other}: the difference is real, and smaller than what matters ({_within(comparison)})."
    if len(small) > SHOWN:
        yield f"{len(small) - SHOWN} more pairs differ by less than what matters."


def _against_constants(comparison: Comparison) -> Iterator[str]:
    """Yield what is resolved, though not clearly, against an entrant that never varies: skewed scores mislead a t interval there.

    It does not ask whether the other's scores look skewed: those that mislead are the samples that do not.
    """
    barely = [
        pair
        for pair in comparison.pairs
        if pair.verdict in {"better", "worse"} and (pair.difference.probability or 0.0) >= CLEAR
    ]
    raw = {
        name: comparison.outcomes.scores(name, normalised=False)
        for name in dict.fromkeys(n for pair in barely for n in (pair.one, pair.other))
    }
    found = [(pair, still) for pair in barely if (still := _still(pair, raw)) is not None]
    for pair, still in found[:SHOWN]:
        varying = pair.other if still == pair.one else pair.one
        yield (
            f"{pair.one} and {pair.other}: {still} never varies where {varying} does. If the scores of {varying} are skewed (rare failures "
            f"or rare successes), such a verdict is wrong more often than 5 % unless p is below {CLEAR:g}; read the IQM beside it, or add "
            "seeds."
        )
    if len(found) > SHOWN:
        yield f"{len(found) - SHOWN} more pairs are resolved against who never varies."


def _still(pair: PairVerdict, raw: Mapping[str, Scores]) -> str | None:
    """Return which of two has the same score with every seed of a task on which the other has not."""
    for part in pair.difference.tasks:
        sides = [[*raw[name].get(part.task, {}).values()] for name in (pair.one, pair.other)]
        if all(len(values) >= LEAST for values in sides):
            varies = [variance(values) > 0 for values in sides]
            if varies[0] != varies[1]:
                return pair.other if varies[0] else pair.one
    return None


def _is_small(pair: PairVerdict, margin: float | None) -> bool:
    if pair.decision is not None:
        return margin is not None and pair.decision.interval.lies_within(margin)
    return pair.equivalence is not None and pair.equivalence < ALPHA


def _stuck(comparison: Comparison) -> dict[str, tuple[int, int]]:
    """Return by entrant how many of its jobs stayed at the initial score, out of how many, where most of them did better."""
    found = {}
    for name in comparison.outcomes.entrants:
        measured = [o for o in comparison.outcomes.of(name) if o.score is not None and o.initial is not None]
        stuck = sum(o.score <= o.initial for o in measured if o.score is not None and o.initial is not None)
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
    """Return the warning that entrants used an axis unequally, the trainer that changes nothing aside, or nothing."""
    keys = comparison.outcomes.keys
    measured = [s for s in comparison.summaries if s.standing.interval is not None]
    uses = {s.standing.entrant: s.use for s in measured if keys[s.standing.entrant].trainer_id != UNCHANGING}
    if (unequal := unequal_uses(uses, axis)) is None:
        return []
    least, most, ratio = unequal
    at = as_cap(axis, getattr(uses[least], axis))
    return [f"Unequal use: {most} used {ratio:.1f} times the {axis} of {least}; `--at {at:.6g}` compares at equal use."]


def _against_baseline(comparison: Comparison) -> str:
    if comparison.baseline in comparison.without_scores():
        return f"Nothing to compare: the baseline {comparison.baseline} has no score."
    if not comparison.pairs:
        return f"Nothing to compare: nobody has a task in common with {comparison.baseline}."
    by_verdict = {v: [p.one for p in comparison.pairs if p.verdict == v] for v in ("better", "worse", "equivalent")}
    words = {"better": "better", "worse": "worse", "equivalent": f"equivalent ({_within(comparison)})"}
    parts = [
        f"{_list(names)} {'is' if len(names) == 1 else 'are'} {words[v]}" for v, names in by_verdict.items() if names
    ]
    rest = [p.one for p in comparison.pairs if p.verdict not in by_verdict]
    parts += [f"{_list(rest)} {'is' if len(rest) == 1 else 'are'} not resolved"] if rest else []
    return f"Against {comparison.baseline}: {'; '.join(parts) or 'nothing to compare'}, {_where(comparison.pairs)}."


def _more_seeds(comparison: Comparison, pair: PairVerdict) -> str:
    names = f"{pair.one} and {pair.other}"
    present = pair.difference.contrast.seeds
    if pair.decision is not None:
        if pair.decision.verdict == "not resolved":
            return f"{names}: not resolved at the plan's last seed; the design ends here."
        more = pair.decision.more
        if more is None:
            return f"{names}: the plan's remaining seeds will likely not decide; stop, or plan for more beforehand."
    else:
        if pair.difference.interval.estimate == 0 and pair.measured < pair.difference.paired:
            return f"{names}: nothing tells them apart; jobs that failed count here without a score. Try those again first."
        if pair.difference.interval.estimate == 0:
            return f"{names} scored alike: no number of seeds tells them apart unless they come to differ."
        if more_seeds(pair) is None:
            return f"{names}: more seeds are needed to learn their spread."
        more = more_seeds(pair) or 1
    smallest = pair.resolution.smallest if pair.resolution is not None else None
    able = "" if smallest is None else f" {present} seeds resolve {smallest:.3g}."
    return f"{names}: {more} more {'seed' if more == 1 else 'seeds'} per task{_cost(comparison, pair, more)} would likely decide.{able}"


def _cost(comparison: Comparison, pair: PairVerdict, seeds: int) -> str:
    uses = {s.standing.entrant: s.use.usd for s in comparison.summaries}
    one, other = uses.get(pair.one), uses.get(pair.other)
    if one is None or other is None:
        return " (cost unknown)"
    usd = (one + other) * seeds * len(pair.difference.tasks)
    return f" (USD {usd:.2f})" if usd else ""


def _where(pairs: Sequence[PairVerdict]) -> str:
    """Return on how many tasks and seeds some pairs stand."""
    tasks = sorted({len(pair.difference.tasks) for pair in pairs})
    seeds = sorted({math.floor(task.seeds) for pair in pairs for task in pair.difference.tasks})
    return f"on {_count(tasks, 'task')} with {_count(seeds, 'seed')}"


def _count(numbers: Sequence[int], what: str) -> str:
    low, high = numbers[0], numbers[-1]
    return f"{low}-{high} {what}s" if low != high else f"{low} {what}{'' if low == 1 else 's'}"


def _within(comparison: Comparison) -> str:
    return "" if comparison.margin is None else f"within ±{comparison.margin:g}"


def _amount(pair: PairVerdict) -> str:
    interval = pair.difference.interval
    unit = " (standardised)" if pair.difference.scale == "standardised" else ""
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.3g}{unit}"
    return f"{interval.estimate:.3g} [{interval.low:.3g}, {interval.high:.3g}]{unit}"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
