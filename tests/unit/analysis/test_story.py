"""The page of a run: nothing that a candidate holds can act, changes are marked by the word, and curves are named apart."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import time
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.cli.test_demo import Page
from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.comparison import compare_runs
from tracebench_analysis.report.changed import marked
from tracebench_analysis.report.lines import STEP, lines_svg
from tracebench_analysis.report.path import LONGEST, text_of
from tracebench_analysis.report.story import About, render_story
from tracebench_core.specs import Candidate

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
    began = time.monotonic()
    left, _ = marked(old, old.replace("*", "+").replace("x", "y"))
    assert "<del>" in left
    assert began  # the time itself is not judged


def test_the_page_runs_only_the_script_that_its_policy_names(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", lambda task, trainer, seed: float(seed), trainers=(EVIL[:40], "B"))
    about = About(EVIL, EVIL, [EVIL], [(EVIL, EVIL)])
    text = render_story(run, compare_runs([run]), about, pictures={})
    page = Page(text)
    assert (page.open, page.asked, page.handlers) == ([], [], [])
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in text
    assert "unsafe-inline" not in text


def test_what_cannot_be_written_and_what_is_too_long_is_shown_all_the_same() -> None:
    assert text_of(Candidate(id="c", values={"a": "half \ud800"})) == "half ?"
    long = text_of(Candidate(id="c", values={"a": "x" * (LONGEST + 5)}))
    assert long.endswith("… 5 more characters")
    assert text_of(Candidate(id="c", values={"a": 1, "b": [2]})) == "a = 1\nb = [2]"


def test_curves_end_at_names_that_do_not_touch_and_are_escaped() -> None:
    rows = [
        {"trainer": name, "x": x, "mean": 0.5, "low": 0.4, "high": 0.6}
        for name in ("a<b>", "c", "d")
        for x in (1.0, 2.0)
    ]
    drawn = lines_svg(rows, across="evaluations", up="gain")
    heights = sorted(float(y) for y in re.findall(r'<circle cx="\d+" cy="([\d.]+)"', drawn))
    assert len(heights) == 3
    assert all(b - a >= STEP - 0.1 for a, b in pairwise(heights))
    assert "a&lt;b&gt;" in drawn
    assert "<b>" not in drawn
