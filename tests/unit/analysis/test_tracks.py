from __future__ import annotations

from pathlib import Path

from tracebench_analysis.figures.tracks import read_curve, sparkline
from tracebench_runs.storage.layout import RunLayout

BEST = '{"kind":"best","candidate":"%s","score":%s,"used":{"evaluations":%d,"usd":null}}\n'


def write(folder: Path, *lines: str):
    job = RunLayout(folder).job("j")
    job.path.mkdir(parents=True)
    job.events.write_text("".join(lines))
    return job


def test_a_candidate_that_is_measured_example_by_example_counts_once_with_its_last_mean(tmp_path: Path) -> None:
    job = write(tmp_path, BEST % ("c0", 0.9, 1), BEST % ("c0", 0.5, 3), BEST % ("c1", 0.6, 6))
    curve = read_curve(job, "evaluations", end=10)

    assert curve is not None
    assert (curve.xs, curve.ys, curve.end) == ((3, 6), (0.5, 0.6), 10)


def test_torn_and_foreign_lines_are_passed_over_and_unknown_use_has_no_curve(tmp_path: Path) -> None:
    job = write(
        tmp_path,
        '{"kind":"best","cand\n',
        '"best"\n',
        '{"kind":"other"}\n',
        BEST % ("c1", 0.6, 6),
        BEST % ("c2", "NaN", 7),
        BEST % ("c3", "1" + "0" * 400, 8),
    )

    curve = read_curve(job, "evaluations", end=8)
    assert curve is not None
    assert curve.ys == (0.6,)
    assert read_curve(job, "usd", end=None) is None
    assert read_curve(RunLayout(tmp_path).job("none"), "evaluations", end=8) is None


def test_a_sparkline_stays_inside_its_bars() -> None:
    assert sparkline([-1, 0, 0.5, 1, 2]) == "▁▁▅██"
