"""Whatever a run holds is shown as text: nothing in it acts in a browser, drives a terminal, or breaks the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_viewer.tests.hostile import TEXTS, make_hostile, make_odd
from plugins.tracebench_viewer.tests.visiting import IN_A_BROWSER, Visitor, served, visiting

pytestmark = [*IN_A_BROWSER, pytest.mark.timeout(1800)]
PLANTED = "#hacked, iframe[src*=evil], [src*='evil.example'], [href^='javascript:'], a[href*='evil.example'], [onerror], [onload]"
DRIVING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def demand_harmless(visitor: Visitor) -> None:
    """Look for anything that a text of the run could have planted or set off."""
    page = visitor.page
    assert page.evaluate("window.hacked") is None
    assert page.locator(f"[data-testid=stMain] :is({PLANTED})").count() == 0
    assert page.locator("[data-testid=stMain] h1").count() == 1
    assert not DRIVING.search(visitor.text())
    assert visitor.dialogues == []
    assert visitor.strayed == []


def test_hostile_texts_are_shown_as_texts_in_every_place(browser: Any, runs_dir: Path, tmp_path: Path) -> None:
    jobs = make_hostile(runs_dir)
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        for path in ("", "run?run=hostile", "failures", "compare?runs=hostile"):
            visitor.open(path)
            demand_harmless(visitor)
        visitor.open("run?run=hostile")
        for tab in ("Config", "History"):
            visitor.page.get_by_role("tab", name=tab).click()
            visitor.settle()
            demand_harmless(visitor)
        for what, job_id in jobs.items():
            visitor.open(f"job?run=hostile&job={job_id}&candidate=c1")
            visitor.until("Candidate c1")
            demand_harmless(visitor)
            for tab in ("Examples", "Model calls", "Log and files"):
                visitor.page.get_by_role("tab", name=tab).click()
                visitor.settle()
                demand_harmless(visitor)
            visitor.page.get_by_role("tab", name="Model calls").click()
            visitor.until("Click a call")
            visitor.settle()
            visitor.page.locator("[data-testid=stDataFrame]:visible").last.wait_for()
            visitor.click_row(0, table=_last_visible(visitor), at=60)
            visitor.until("reply, call 0")
            demand_harmless(visitor)
            shown = re.sub(r"\s", "", "".join(visitor.page.locator("[data-testid=stCode]:visible").all_inner_texts()))
            wanted = re.sub(r"\s", "", DRIVING.sub("\N{REPLACEMENT CHARACTER}", TEXTS[what]))[:200]
            assert wanted in shown, what


def _last_visible(visitor: Visitor) -> int:
    every = visitor.page.locator("[data-testid=stDataFrame]")
    return max(i for i in range(every.count()) if every.nth(i).is_visible())


def test_hostile_addresses_are_told_in_words(browser: Any, runs_dir: Path, tmp_path: Path) -> None:
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        for address in (
            "run?run=../../../etc", "run?run=%3Cscript%3Ealert(1)%3C/script%3E", "job?run=first&job=..%2f..%2fx",
            "job?run=first&candidate=%3Cimg%20src=x%20onerror=alert(1)%3E", "compare?runs=..,%00,first,first", "run?run=" + "x" * 3000,
        ):  # fmt: skip
            visitor.open(address)
            demand_harmless(visitor)


def test_runs_that_crashes_and_other_versions_left_are_shown_or_told(
    browser: Any, runs_dir: Path, tmp_path: Path
) -> None:
    names = make_odd(runs_dir, runs_dir / "first")
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        visitor.open("")
        visitor.until("cannot be read")
        for name in names:
            for page in (f"run?run={name}", f"job?run={name}", f"compare?runs={name}"):
                visitor.open(page)
                demand_harmless(visitor)
        visitor.open("run?run=newer")
        visitor.until("99")
        visitor.open("run?run=killed")
        visitor.until("stopped early")
        visitor.open("job?run=no-plugin")
        visitor.until("nowhere:task")
