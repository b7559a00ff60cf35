"""`compare --inspect` and `compare --lm-eval`: the same questions to several models, from logs that other programs wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.tables import chosen
from tracebench_engine.cli.results.standings import interval_text, probability_text

if TYPE_CHECKING:
    from tracebench_engine.api.judging.logs import LogComparison

EXAMPLES = {
    "inspect": "trace-bench compare --inspect one.eval other.eval",
    "lm_eval": "trace-bench compare --lm-eval one.jsonl other.jsonl",
}
LOGS = ("log", "score", "SE", "SE plain", "questions", "rows", "no score", "errors")
PAIRS = (
    "one", "other", "verdict", "difference", "95 %", "p", "p (Holm)", "test", "SE", "SE unpaired", "questions", "clusters", "won", "lost",
    "resolves", "more questions",
)  # fmt: skip


def compare_others(
    names: Sequence[str],
    *,
    kind: Literal["inspect", "lm_eval"],
    metric: str | None,
    cluster: str | None,
    columns: str | None,
    as_json: bool,
) -> None:
    """Read the logs, compare each with each, and print that."""
    from tracebench_engine.api.judging.logs import compare_logs, log_data, log_sentences, read_inspect, read_lm_eval

    shown = chosen(columns, LOGS, PAIRS)
    paths = [Path(name) for name in names]
    if len({*paths}) < len(paths) and len(paths) > 2:  # noqa: PLR2004 - a log against itself is a check of the bench
        raise UsageError("A log is named twice.", hint=EXAMPLES[kind])
    read = read_inspect if kind == "inspect" else read_lm_eval
    logs = [read(path, cluster=cluster) for path in paths]
    if len(logs) < 2:  # noqa: PLR2004 - one log is compared with nothing
        raise UsageError("A comparison takes two logs or more.", hint=EXAMPLES[kind])
    found = compare_logs(logs, metric=metric, cluster=cluster)
    if as_json:
        output.document("logs", **log_data(found))
        return
    for sentence in log_sentences(found):
        output.prose(sentence, is_data=True)
    output.line("")
    _print(found, shown)
    for remark in found.remarks:
        output.prose(remark)


def _print(found: LogComparison, columns: Sequence[str] | None) -> None:
    by = f", clustered by `{found.cluster}`" if found.cluster else ""
    output.note(output.safe(f"Metric `{found.metric}`{by}."))
    output.table(
        LOGS,
        [
            (
                s.table.log.label,
                output.number(s.mean),
                output.number(s.clustered),
                output.number(s.plain),
                str(len(s.table.scores)),
                str(s.rows),
                str(s.table.unscored),
                str(s.table.failed),
            )
            for s in found.standings
        ],
        columns=columns,
        least=("errors", "no score", "rows"),
    )
    print_pairs(found, columns)


def print_pairs(found: LogComparison, columns: Sequence[str] | None) -> None:
    """Print each pair below an empty line, with the cells in the order of `PAIRS`."""
    rows = [
        (
            p.one,
            p.other,
            p.verdict,
            *interval_text(p.interval),
            probability_text(p.probability),
            probability_text(p.adjusted),
            p.test,
            output.number(p.error),
            output.number(p.unpaired),
            str(p.questions),
            str(p.clusters),
            str(p.won),
            str(p.lost),
            output.number(p.resolution.smallest if p.resolution else None),
            "-" if p.more is None else str(p.more),
        )
        for p in found.pairs
    ]
    output.line("")
    least = ("clusters", "SE unpaired", "SE", "resolves", "won", "lost", "test", "p")
    output.table(PAIRS, rows, columns=columns, least=least)
