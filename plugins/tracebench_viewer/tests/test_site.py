"""A published site and a report in a real browser: opened from disk, filtered, linked into, and asked of by nobody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from plugins.tracebench_viewer.tests.hostile import make_hostile
from plugins.tracebench_viewer.tests.visiting import IN_A_BROWSER, axe, command, reading

from tracebench_engine.api import load_run

pytestmark = [*IN_A_BROWSER, pytest.mark.timeout(900)]
PLANTED = "#hacked, iframe, [src*='evil.example'], [href^='javascript:'], a[href*='evil.example'], [onerror], [onload]"


@pytest.fixture
def site(runs_dir: Path) -> Path:
    """The site of a run, and of one with hostile texts."""
    make_hostile(runs_dir)
    out = runs_dir.parent / "site"
    command("publish", str(runs_dir / "first"), str(runs_dir / "hostile"), "-o", str(out))
    return out


def drawn(page: Any) -> None:
    """Wait until a page's script has drawn all."""
    page.wait_for_selector("body[data-drawn]", state="attached")


def test_from_the_list_to_a_candidate_by_links_that_last(browser: Any, site: Path, runs_dir: Path) -> None:
    run = load_run(runs_dir / "first")
    job = next(result for result in run.results.values() if result.status == "ok")
    with reading(browser) as page:
        page.goto(f"file://{site}/index.html")
        page.get_by_role("link", name="first", exact=True).click()
        page.get_by_label("status").select_option(label="● ok")
        assert page.locator("table.list tbody tr:visible").count() == sum(
            r.status == "ok" for r in run.results.values()
        )
        assert "status=" in page.url
        page.reload()
        page.get_by_text("2 of 4", exact=True).wait_for()
        page.get_by_role("link", name=job.job_id).click()
        drawn(page)
        assert page.locator("#candidate").input_value() == job.best_candidate
        assert page.locator("#curve-evaluations svg path").count() > 1
        page.get_by_role("link", name="c1", exact=True).click()
        page.wait_for_function("document.getElementById('candidate').value === 'c1'")
        assert page.locator(".diff .line.changed").count() > 0
        page.goto(f"file://{site}/runs/first/jobs/{job.job_id}.html#candidate=c2")
        page.reload()
        page.wait_for_function("document.getElementById('candidate')?.value === 'c2'")
        page.goto(f"file://{site}/runs/first/jobs/{job.job_id}.html#candidate=nobody")
        page.reload()
        page.get_by_text("There is no candidate nobody in this job").wait_for()


def test_tables_are_sorted_and_searched(browser: Any, site: Path) -> None:
    with reading(browser) as page:
        page.goto(f"file://{site}/runs/first/index.html")
        page.get_by_role("button", name="evaluations").click()
        amounts = page.locator("table.list tbody tr td:nth-child(10)").all_inner_texts()
        known = [int(amount) for amount in amounts if amount != "-"]
        assert known == sorted(known)
        page.get_by_label("contains").fill("no trainable")
        assert page.locator("table.list tbody tr:visible").count() == 2
        assert page.url.endswith("#text=no+trainable")


def test_hostile_texts_do_nothing_on_published_pages(browser: Any, site: Path) -> None:
    with reading(browser) as page:
        for path in sorted(site.rglob("*.html")):
            page.goto(f"file://{quote(str(path))}")
            if "packed" in path.read_text():
                drawn(page)
            assert page.evaluate("window.hacked") is None
            assert page.locator(PLANTED).count() == 0
            assert page.locator("h1").count() == 1


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (640, "light"), (1280, "dark")])
def test_files_can_be_read_by_everybody(browser: Any, site: Path, runs_dir: Path, width: int, scheme: str) -> None:
    report = runs_dir.parent / "report.html"
    command("report", str(runs_dir / "first"), "-o", str(report))
    run = load_run(runs_dir / "first")
    jobs = [site / "runs" / "first" / "jobs" / f"{job_id}.html" for job_id in run.results]
    with reading(browser, width=width, scheme=scheme) as page:
        for path in (report, *site.glob("*.html"), site / "runs/first/index.html", *jobs):
            page.goto(f"file://{path}")
            if path is report:
                page.wait_for_selector("figure svg.marks")
            elif "packed" in path.read_text():
                drawn(page)
            assert axe(page) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            if scheme == "dark":
                assert (
                    max(
                        json.loads(
                            page.evaluate(
                                "JSON.stringify(getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number))"
                            )
                        )
                    )
                    < 60
                )
