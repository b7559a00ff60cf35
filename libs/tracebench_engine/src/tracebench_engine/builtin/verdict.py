"""The verdict on one run, in words and as data: `run` ends with it, `show` begins with it, and both give it to programs."""

from __future__ import annotations

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tracebench_analysis.logs import GIVEN
from tracebench_core.errors import TraceBenchError
from tracebench_core.specs.verdict import PairData, SettlingData, Verdict
from tracebench_runs.reading.reader import Run, load_run

if TYPE_CHECKING:
    from tracebench_analysis.comparison.verdicts import Comparison, PairVerdict

LARGE = 2000
"""Jobs above which a comparison is made when it is asked for, and not at the end of every run."""
log = logging.getLogger(__name__)


def verdict_of(run: Run) -> Verdict:
    """Return what a run's comparison says.

    Raises:
        TraceBenchError: when its jobs cannot be compared.
    """
    if len(run.planned) > LARGE:
        words = shlex.join(["trace-bench", "compare", str(run.layout.path)])
        return Verdict(sentence=f"No verdict yet, for {len(run.planned)} jobs take a while to compare: {words}")
    from tracebench_analysis.comparison.comparison import compare_runs  # noqa: PLC0415 - a run that is not compared needs none of it
    from tracebench_analysis.comparison.outcomes import ENDED  # noqa: PLC0415 - as above
    from tracebench_analysis.comparison.pooling import DEMONSTRATOR, is_demonstration  # noqa: PLC0415 - as above
    from tracebench_engine.builtin.hosting import find_aggregate  # noqa: PLC0415 - as above

    if not any(brief.status in ENDED for brief in run.briefs.values()):
        return Verdict(sentence="No verdict: no job ended.")
    if is_demonstration(run):
        return Verdict(
            sentence=f"A demonstration: `{DEMONSTRATOR}` shows answers that the tasks ship, so that no trainer is ranked."
        )
    if all(job.trainer_id == GIVEN for job in run.planned):
        return _of_given(run)
    return verdict_data(compare_runs([run], find=find_aggregate), run)


def _of_given(run: Run) -> Verdict:
    """Return what a run of given candidates says: they are compared question by question, as `evaluate` does."""
    from tracebench_analysis.logs.given import compare_given, given_candidates  # noqa: PLC0415 - as above
    from tracebench_analysis.logs.words import log_sentences  # noqa: PLC0415 - as above

    found = compare_given(given_candidates(run))
    if found is None:
        return Verdict(sentence="No verdict: no candidate has a score.")
    (first, *_) = found.standings
    alone = f"`{first.table.log.label}` scores {first.mean:.4g}, and there is nothing to compare it with."
    return Verdict(
        sentence=" ".join(log_sentences(found)) or alone,
        decided=bool(found.pairs) and all(pair.verdict != "not resolved" for pair in found.pairs),
        remarks=tuple(found.remarks),
    )


def verdict_data(found: Comparison, run: Run) -> Verdict:
    """Return what the comparison of a run says."""
    from tracebench_analysis.comparison.sentences import (  # noqa: PLC0415 - as above
        remarks,
        verdict_sentence,
        what_next,
    )
    from tracebench_analysis.comparison.settling import hints, open_pair, settling  # noqa: PLC0415 - as above

    told = settling(found, [run])
    return Verdict(
        sentence=verdict_sentence(found),
        entrants=tuple(s.standing.entrant for s in found.summaries if s.standing.interval is not None),
        decided=bool(found.pairs) and open_pair(found) is None,
        pairs=tuple(map(_pair, found.pairs)),
        next_step=what_next(found, [run]) or "",
        without_scores=tuple(found.without_scores()),
        remarks=tuple(remarks(found)),
        hints=tuple(hints(found, [run])),
        settling=None
        if told is None
        else SettlingData(
            one=told.pair.one, other=told.pair.other, seeds=told.seeds, usd=told.usd, seconds=told.seconds, command=told.command
        ),
    )  # fmt: skip


def verdict_at_end(run: Path | Run) -> Verdict:
    """Return the verdict on a run that has ended, by its folder or opened; what cannot be said is said, and takes nothing from the run."""
    try:
        return verdict_of(load_run(run) if isinstance(run, Path) else run)
    except TraceBenchError as err:  # what cannot be compared is no fault of the run
        return Verdict(sentence=f"No verdict: {err}")
    except Exception as err:  # the run has ended, and its exit code says how
        log.debug("no verdict", exc_info=True)
        return Verdict(sentence=f"No verdict: {type(err).__name__}: {err}.")


def _pair(pair: PairVerdict) -> PairData:
    interval = pair.difference.interval
    return PairData.model_validate({
        "one": pair.one,
        "other": pair.other,
        "verdict": pair.verdict,
        "difference": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "holm": pair.adjusted,
        "scale": pair.difference.scale,
    })  # fmt: skip
