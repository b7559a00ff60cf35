"""The page of a run: nothing that a candidate holds can act, changes are marked by the word, and curves are named apart."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.cli.test_demo import Page
from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.report.lines import BELOW, HEIGHT, TOP, is_cut, lines_svg
from tracebench_analysis.report.story import LONGEST, MOST, About, marked, render_story, text_of
from tracebench_core.specs import BudgetState, Candidate
from tracebench_core.specs.events import BestChanged, CandidateSeen
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.reading.reader import Run, load_run
from tracebench_runs.results.results import write_result

EVIL = "</script><script>alert(1)</script><img src=http://x.example/ onerror=alert(2)>'\"&\u2028"


def bare(marked_text: str) -> str:
    return html.unescape(re.sub(r"</?(?:del|ins)>", "", marked_text))


def test_a_word_that_changed_is_marked_and_no_other() -> None:
    left, right = marked("a = 0.5\nb = 2\n", "a = 0.496\nb = 2\n")
    assert left == "a = <del>0.5</del>\nb = 2\n"
    assert right == "a = <ins>0.496</ins>\nb = 2\n"


@given(st.text(max_size=200), st.text(max_size=200))
def test_both_texts_are_whole_and_escaped(before: str, after: str) -> None:
    left, right = marked(before, after)
    assert (bare(left), bare(right)) == (before, after)
    for shown in (left, right):
        assert not re.search(r"<(?!/?(?:del|ins)>)", shown)


def test_long_texts_are_compared_in_time() -> None:
    """A thousand lines against a thousand others: by the word they would take minutes, which the test's own limit would end."""
    old = "\n".join(f"x{i} = {i} * {i % 7}" for i in range(1000))
    left, _ = marked(old, old.replace("*", "+").replace("x", "y"))
    assert "<del>" in left


def led(run: Run, changes: Sequence[CandidateSeen | BestChanged], best: str) -> Run:
    """Return the run with these events in each of its jobs, and with a best candidate."""
    for job in run.planned:
        layout = run.layout.job(job.job_id)
        writer = EventWriter(layout)
        for event in changes:
            writer.append(event)
        writer.close(durable=False)
        write_result(layout, run.results[job.job_id].model_copy(update={"best_candidate": best}), durable=False)
    return load_run(run.layout.path)


def seen(name: str, value: str, *parents: str) -> CandidateSeen:
    return CandidateSeen(id=name, parents=parents, origin="", values={"a": value}, step=None)


def leads(name: str, score: float, after: int) -> BestChanged:
    return BestChanged(candidate=name, score=score, used=BudgetState(evaluations=after))


def test_the_page_runs_only_the_script_that_its_policy_names(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda task, trainer, seed: float(seed), trainers=(EVIL[:40], "B"))
    events = [seen("c0", EVIL), leads("c0", 0.1, 1), seen("c1", f"{EVIL} and more", "c0"), leads("c1", 0.2, 3)]
    run = led(run, events, "c1")
    about = About(EVIL, EVIL, [EVIL], [(EVIL, EVIL)])
    text = render_story(run, compare_runs([run]), about, pictures={})
    page = Page(text)
    assert (page.open, page.asked, page.handlers) == ([], [], [])
    assert int(page.ids["at"]["max"]) == 1  # the slider has both candidates
    assert "Best candidate beside its parent" in page.words
    assert (
        " ".join(page.words).count("alert(2)") >= 6
    )  # title, task, note, command, and the candidate three times, as words
    (steps,) = re.findall(r'<script type="application/json" id="steps">(.*?)</script>', text, re.DOTALL)
    assert bare(json.loads(steps)[1]["text"]) == f"{EVIL} and more"
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in text
    assert "unsafe-inline" not in text


def words_of(run: Run) -> str:
    text = render_story(run, compare_runs([run]), About("T", "t", [], []), pictures={})
    return " ".join(" ".join(Page(text).words).split())


def test_a_page_says_of_candidates_what_is_recorded_of_them(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda task, trainer, seed: 1.0, tasks=("s:x",), trainers=("A", "B"), seeds=(0, 1))
    later = [seen("c0", "a = 0"), seen("c1", "a = 1"), leads("c1", 0.5, 7)]

    words = words_of(led(run, later, "c1"))
    assert "1 of 1: candidate c1 scored 0.5, after 7 evaluations." in words
    assert "every candidate that led for a while" in words
    assert "parent" not in words  # c1 was made from nothing that is known
    assert "what it was made from is not recorded" in words

    many = [seen(f"c{i}", f"a = {i}", f"c{i - 1}") for i in range(2, MOST + 60)]
    leading = [leads(f"c{i}", 0.5 + i / 1000, 7 + i) for i in range(2, MOST + 60)]
    words = words_of(led(run, [*many, *leading], f"c{MOST + 59}"))
    assert f"{MOST} of {MOST + 59} candidates that led for a while" in words
    assert f"parent c{MOST + 58}" in words


def test_of_a_job_that_found_nothing_better_the_page_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda task, trainer, seed: 1.0, tasks=("s:x",))
    words = words_of(led(run, [seen("c0", "a = 0"), leads("c0", 0.5, 1), seen("c1", "a = 1", "c0")], "c0"))
    assert "1 of 1: the initial candidate c0 scored 0.5, after 1 evaluation." in words
    assert "The initial candidate was not improved." in words


def test_what_cannot_be_written_and_what_is_too_long_is_shown_all_the_same() -> None:
    assert text_of(Candidate(id="c", values={"a": "half \ud800"})) == "half ?"
    long = text_of(Candidate(id="c", values={"a": "x" * (LONGEST + 5)}))
    assert long.endswith("… 5 more characters")
    assert text_of(Candidate(id="c", values={"a": 1, "b": [2]})) == "a = 1\nb = [2]"


def test_a_legend_names_every_curve_whole_and_escaped_from_the_highest_end() -> None:
    for count in (3, 20, 24):
        rows = [
            {"trainer": f"a<b>{i}", "x": x, "mean": i / count if x else 1.0, "low": 0.0, "high": 1.0}
            for i in range(count)
            for x in (2.0, 0.0)  # in whatever order
        ]
        drawn = lines_svg(rows, across="evaluations", up="gain")
        named = re.findall(r"</svg>(a&lt;b&gt;\d+) <b>([\d.]+)</b>", drawn)
        assert named == [(f"a&lt;b&gt;{i}", f"{i / count:.2f}") for i in reversed(range(count))]
        looks = re.findall(r'<polyline [^>]*stroke="(#\w+)"[^>]*stroke-dasharray="([^"]+)"', drawn)
        assert len(set(looks)) == count
        assert "a<b>" not in drawn


@given(st.floats(1e-6, 1e6), st.floats(0, 1e6))
def test_an_axis_has_a_few_round_numbers_within_the_drawing(above: float, below: float) -> None:
    rows = [
        {"trainer": "a", "x": 1.0, "mean": 0.0, "low": -below, "high": above},
        {"trainer": "a", "x": 0.0, "mean": 0.0, "low": 0.0, "high": 0.0},
    ]
    drawn = lines_svg(rows, across="evaluations", up="gain")
    heights = [float(y) for y in re.findall(r'<line x1="\d+" x2="\d+" y1="([\d.]+)"', drawn.partition("<g><title>")[0])]
    assert 2 <= len(heights) <= 6
    assert all(TOP - 0.1 <= y <= HEIGHT - BELOW + 0.1 for y in heights)


@given(st.floats(0, 1e3), st.floats(0, 1e3), st.booleans())
def test_a_wide_band_never_presses_the_lines_flat(above: float, below: float, falls: bool) -> None:
    end = -1.0 if falls else 1.0
    rows = [
        {"trainer": "a", "x": 0.0, "mean": 0.0, "low": 0.0, "high": 0.0},
        {"trainer": "a", "x": 1.0, "mean": end, "low": end - below, "high": end + above},
    ]
    drawn = lines_svg(rows, across="evaluations", up="gain")
    first, last = [float(place.split(",")[1]) for place in re.findall(r'<polyline points="([^"]+)"', drawn)[0].split()]
    assert abs(first - last) >= (HEIGHT - BELOW - TOP) / 2 - 0.2
    ends = sorted([0.0, end])
    assert is_cut(rows) == (end - below < ends[0] - 0.5 or end + above > ends[1] + 0.5)
    assert drawn.count('clip-path="url(#frame)"') == 1
