"""Holds what was measured of a calibration's case against what it expects: a pure function of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import hypot
from statistics import median
from typing import Literal

from tracebench_core.specs import Calibration, CalibrationKind, CaseVerdict, Feedback

DISHONEST: frozenset[CalibrationKind] = frozenset({"forged", "refused"})
UNTOLD: frozenset[CalibrationKind] = DISHONEST | {"anchor"}
"""Kinds that say nothing of a figure, so that they come out right also where a task measures wrongly."""
SHORT = 200
"""Characters of a feedback that a verdict repeats."""
_MOST_SHARES = 2.0
"""How many times a case's relative tolerance the noise may be that measurements tell of themselves."""
Result = Literal["passed", "failed", "noisy", "skipped"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of measuring a case, as many times as it asks for."""

    figures: tuple[float | None, ...]
    """Of each time: that of the batch, None where it has none."""
    examples: Mapping[str, float]
    """The median of each example that was `ok` every time, by its id."""
    failed: Mapping[str, Feedback]
    """The others, with what they were told last."""
    share: float = 0.0
    """The noise that the measurements tell of themselves, as a share of their figures: the greatest."""
    lacks: str = ""
    """A metric that the case names and a feedback that is `ok` does not have."""

    @property
    def figure(self) -> float | None:
        """The median of the batch's figures."""
        known = [figure for figure in self.figures if figure is not None]
        return median(known) if len(known) == len(self.figures) else None

    @property
    def noise(self) -> float:
        """Half of the range of the batch's figures."""
        known = [figure for figure in self.figures if figure is not None]
        return (max(known) - min(known)) / 2 if known else 0.0

    @property
    def unmeasured(self) -> str:
        """Why nothing can be said; empty when all was measured."""
        return next((f.text or "no reason is given" for f in self.failed.values() if f.status == "not_measured"), "")


def seen_of(times: Sequence[tuple[float | None, Mapping[str, Feedback]]], metric: str, noise: str = "") -> Seen:
    """Return what was seen of a case: its batch's figure and its feedbacks by example, for each time."""
    ok: dict[str, list[float]] = {}
    failed: dict[str, Feedback] = {}
    lacking = ""
    for _, feedbacks in times:
        for id_, feedback in feedbacks.items():
            lacks = [name for name in (metric, noise) if name and name not in feedback.metrics]
            if feedback.status != "ok":
                failed[id_] = feedback
            elif lacks:
                lacking = lacks[0]
                failed[id_] = Feedback(score=0.0, status="error", text=f"its feedback has no metric `{lacking}`")
            else:
                ok.setdefault(id_, []).append(feedback.metrics[metric] if metric else feedback.score)
    whole = {id_: median(figures) for id_, figures in ok.items() if id_ not in failed}
    shares = [told[noise] for _, feedbacks in times for f in feedbacks.values() if noise in (told := f.metrics)]
    return Seen(tuple(figure for figure, _ in times), whole, failed, max(shares, default=0.0), lacking)


def judge(case: Calibration, cases: Mapping[str, Calibration], seen: Mapping[str, Seen], start: Seen) -> CaseVerdict:
    """Return a case's verdict. `seen` holds every case that was measured, by name, and `start` is what the initial candidate got."""
    mine, other = seen[case.name], seen.get(case.other) if case.other else None
    if (senseless := _senseless(case, mine)) is not None:
        return senseless
    if case.kind == "refused" and (not mine.unmeasured or (case.words and case.words in mine.unmeasured)):
        return _refused(case, mine)
    if (unsaid := _unsaid(case, mine, other)) is not None:
        return unsaid
    if case.kind == "forged":
        honest = [seen[c.name] for c in cases.values() if c.name in seen and _is_honest_beside(c, case)]
        return _forged(case, mine, [other] if other is not None else (honest or [start]))
    if case.kind in {"gold", "form"} or isinstance(case.expected, dict):
        return _every(case, mine, other)
    return _whole(case, mine, other)


def _senseless(case: Calibration, mine: Seen) -> CaseVerdict | None:
    """Return that a case names what is not there, if that is so."""
    if not mine.examples and not mine.failed:
        return _told(case, "failed", "a measurement", "none", f"There is no example of {case.split} to measure it on.")
    if mine.lacks:
        return _told(case, "failed", f"the metric `{mine.lacks}`", "none", "Its feedback has no metric of that name.")
    return None


def _unsaid(case: Calibration, mine: Seen, other: Seen | None) -> CaseVerdict | None:
    """Return why nothing can be said, if that is so."""
    told = partial(_told, case)
    if mine.unmeasured:
        return told("skipped", "a measurement", "none", f"It cannot be measured here: {mine.unmeasured[:SHORT]}")
    if other is not None and (other.unmeasured or (other.figure is None and case.kind != "forged")):
        return told("skipped", f"`{case.other}`", "none", f"`{case.other}` has no figure to compare with.")
    share, most = _share(case, mine, other), _MOST_SHARES * case.rel_tol
    if share > most:
        why = f"The machine is too noisy: ± {share:.0%} was told, ± {most:.0%} can be allowed for."
        return told("noisy", "a figure", "none" if mine.figure is None else f"{mine.figure:.6g}", why)
    return None


def _is_honest_beside(other: Calibration, case: Calibration) -> bool:
    return other.kind not in DISHONEST and (other.split, other.metric) == (case.split, case.metric)


def _refused(case: Calibration, mine: Seen) -> CaseVerdict:
    expected = "refused" + (f" with `{case.words}`" if case.words else "")
    if mine.examples:
        id_, figure = next(iter(mine.examples.items()))
        return _told(case, "failed", expected, f"{figure:.6g}", f"Example `{id_}` was measured.")
    strange = next((f for f in mine.failed.values() if case.words not in f.text), None)
    statuses = ", ".join(sorted({f.status for f in mine.failed.values()}))
    if strange is not None:
        return _told(case, "failed", expected, statuses, f"It was told: {strange.text[:SHORT]}")
    return _told(case, "passed", expected, statuses)


def _forged(case: Calibration, mine: Seen, honest: Sequence[Seen]) -> CaseVerdict:
    best: dict[str, float] = {}
    for one in honest:
        for id_, figure in one.examples.items():
            best[id_] = max(figure, best.get(id_, figure))
    top = max(best.values(), default=None)
    beaten = []
    for id_, figure in mine.examples.items():
        limit = _expected(case, id_, best.get(id_, top))
        if limit is None:
            return _told(
                case, "skipped", "an honest score", f"{figure:.6g}", "No honest case was measured on its examples."
            )
        if figure > limit + _tolerance(case, limit) + abs(limit) * max(_share(case, mine, one) for one in honest):
            beaten.append((id_, figure, limit))
    if beaten:
        id_, figure, limit = max(beaten, key=lambda one: one[1] - one[2])
        why = f"Example `{id_}`: {figure:.6g}, and an honest candidate has {limit:.6g}."
        return _told(case, "failed", f"at most {limit:.6g}", f"{figure:.6g}", why)
    limit = _expected(case, "", top)
    shown = "no gain" if limit is None else f"at most {limit:.6g}"
    if mine.examples:
        return _told(case, "passed", shown, f"{max(mine.examples.values()):.6g}")
    return _told(case, "passed", shown, ", ".join(sorted({f.status for f in mine.failed.values()})) or "nothing")


def _every(case: Calibration, mine: Seen, other: Seen | None) -> CaseVerdict:
    """Judge a case each example of which must score what is expected of it."""
    if case.expected is None and other is not None:
        wanted: dict[str, float] = dict(other.examples)
    else:
        ids = [*mine.examples, *mine.failed]
        wanted = case.expected if isinstance(case.expected, dict) else dict.fromkeys(ids, case.expected or 0.0)
    values = sorted(set(wanted.values()))
    expected = f"{values[0]:.6g}" if len(values) == 1 else f"the figures of {len(wanted)} examples"
    expected = f"every example {expected}" if len(wanted) > 1 and len(values) == 1 else expected
    wrong = {}
    for id_, figure in wanted.items():
        if id_ in mine.failed:
            wrong[id_] = f"{mine.failed[id_].status}: {mine.failed[id_].text[:SHORT]}"
        elif id_ not in mine.examples:
            wrong[id_] = "it was not measured"
        elif abs(mine.examples[id_] - figure) > _tolerance(case, figure):
            wrong[id_] = f"{mine.examples[id_]:.6g} in place of {figure:.6g}"
    if not wanted:
        return _told(case, "skipped", expected, "nothing", "There is no example to measure it on.")
    right = len(wanted) - len(wrong)
    if wrong:
        id_, words = next(iter(wrong.items()))
        allowed = _tolerance(case, max(values, key=abs))
        if mine.noise > allowed > 0:
            words = f"Example `{id_}`: {words}. {_noise(mine.noise, allowed)}"
            return _told(case, "noisy", expected, f"{right} of {len(wanted)} right", words)
        return _told(case, "failed", expected, f"{right} of {len(wanted)} right", f"Example `{id_}`: {words}")
    return _told(
        case, "passed", expected, f"all {right} right" if right > 1 else f"{mine.examples[next(iter(wanted))]:.6g}"
    )


def _whole(case: Calibration, mine: Seen, other: Seen | None) -> CaseVerdict:
    """Judge a case by the figure of its batch."""
    figure = mine.figure
    if figure is None or (case.kind == "anchor" and mine.failed):
        id_, feedback = next(iter(mine.failed.items()), ("", None))
        words = (
            "It has no figure." if feedback is None else f"Example `{id_}`: {feedback.status}: {feedback.text[:SHORT]}"
        )
        return _told(case, "failed", _wanted_words(case, case.expected), "no figure", words)
    if case.kind == "anchor":
        return _told(case, "passed", _wanted_words(case, None), _with_noise(figure, mine.noise))
    base = other.figure if other is not None else None
    target = case.expected if isinstance(case.expected, float) else (base or 0.0) * (case.factor or 1.0)
    allowed = _tolerance(case, target) + abs(target) * _share(case, mine, other)
    noise = max(mine.noise, other.noise * (case.factor or 1.0) if other is not None else 0.0)
    expected = _wanted_words(case, target, allowed)
    seen = _with_noise(figure, noise)
    misses: Callable[[float], bool] = (
        (lambda more: figure <= target + allowed - more) if case.kind == "order" else (lambda more: abs(figure - target) > allowed + more)
    )  # fmt: skip
    if misses(noise):
        return _told(case, "failed", expected, seen)
    if noise > allowed and case.kind != "order":
        return _told(case, "noisy", expected, seen, _noise(noise, allowed))
    if misses(0.0):
        return _told(case, "noisy" if case.kind == "order" else "failed", expected, seen)
    return _told(case, "passed", expected, seen)


def _wanted_words(case: Calibration, target: float | dict[str, float] | None, allowed: float = 0.0) -> str:
    shown = f"{target:.6g}" if isinstance(target, float) else ""
    within = f" ± {allowed:.2g}" if allowed else ""
    match case.kind:
        case "anchor":
            return "a figure"
        case "order":
            return f"above `{case.other}`, {shown}{within}".rstrip(", ")
        case "ratio":
            return f"{case.factor:g} x `{case.other}`, {shown}{within}".rstrip(", ")
        case "same":
            return f"as `{case.other}`, {shown}{within}".rstrip(", ")
    return f"{shown}{within}"


def _with_noise(figure: float, noise: float) -> str:
    return f"{figure:.6g}" + (f" ± {noise:.2g}" if noise else "")


def _noise(seen: float, allowed: float) -> str:
    return f"The machine is too noisy: ± {seen:.2g} was seen, ± {allowed:.2g} is needed."


def _expected(case: Calibration, example: str, fallback: float | None) -> float | None:
    if isinstance(case.expected, dict):
        return case.expected.get(example, fallback)
    return fallback if case.expected is None else case.expected


def _share(case: Calibration, mine: Seen, other: Seen | None) -> float:
    """Return the noise that a case's measurement tells of itself, and that of the one it is compared with, put together."""
    return hypot(mine.share, other.share if other is not None else 0.0) if case.noise else 0.0


def _tolerance(case: Calibration, figure: float) -> float:
    return case.abs_tol + case.rel_tol * abs(figure)


def _told(case: Calibration, result: Result, expected: str, seen: str, why: str = "") -> CaseVerdict:
    return CaseVerdict(case=case.name, kind=case.kind, result=result, expected=expected, seen=seen, why=why)
