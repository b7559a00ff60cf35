"""Every page for everybody: in the dark, on a telephone, at 200 % zoom, by keyboard and screen reader, and no error in the console."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_viewer.tests.visiting import IN_A_BROWSER, axe, command, hosted, reading, served, visiting

from tracebench_engine.api import load_run

pytestmark = [*IN_A_BROWSER, pytest.mark.timeout(900)]
LOOKS = ((390, "dark"), (640, "light"), (1280, "dark"))
"""A telephone; 1280 pixels at 200 % zoom, which leaves 640; a desk."""
SHOTS = os.environ.get("TRACEBENCH_SHOTS", "")
"""A folder for a picture of every page; none when empty."""

SITE = os.environ.get("TRACEBENCH_SITE", "")
"""The folder of the docs as a site."""


def keep(page: Any, name: str, width: int, scheme: str) -> None:
    """Keep a picture of a page, where that is asked for."""
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}-{width}-{scheme}.png", full_page=True)


def test_every_page_of_the_viewer(browser: Any, runs_dir: Path, tmp_path: Path) -> None:
    results = load_run(runs_dir / "first").results.values()
    good = next(job.job_id for job in results if job.status == "ok")
    bad = next(job.job_id for job in results if job.status == "failed")
    pages = {
        "runs": "", "run": "run?run=first", "config": "run?run=first&tab=config", "job": f"job?run=first&job={good}",
        "calls": f"job?run=first&job={good}&tab=calls", "failed": f"job?run=first&job={bad}", "unknown": "run?run=nope",
        "compare": "compare?runs=first", "failures": "failures", "launch": "launch", "installed": "installed",
    }  # fmt: skip
    found: list[str] = []
    with served(runs_dir, tmp_path) as url:
        for width, scheme in LOOKS:
            with visiting(browser, url, width=width, height=900, scheme=scheme) as visitor:
                page = visitor.page
                for name, path in pages.items():
                    visitor.open(path)
                    page.wait_for_timeout(700)
                    keep(page, name, width, scheme)
                    place = f"{name} at {width}, {scheme}"
                    found += [f"{place}: {told}" for told in axe(page)]
                    across = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
                    found += [f"{place}: {across} wide"] if across > width else []
                found += [f"at {width}, {scheme}: {told}" for told in visitor.errors]
    assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `trace-bench demo`."""
    folder = tmp_path_factory.mktemp("demo")
    command("demo", "--no-open", "--runs-dir", str(folder / "runs"), "-o", str(folder / "demo.html"))
    return folder / "demo.html"


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_page_of_the_demo(browser: Any, story: Path, width: int, scheme: str) -> None:
    with reading(browser, width=width, scheme=scheme) as page:
        page.goto(f"file://{story}")
        page.wait_for_selector("#curves")
        slider = page.get_by_label("from the first candidate")
        told = page.locator("#told")
        assert told.inner_text().startswith(f"{int(slider.get_attribute('max')) + 1} of ")
        line = page.locator("#curves .now")
        last = float(line.get_attribute("x1"))
        slider.focus()
        page.keyboard.press("Home")
        assert told.inner_text().startswith("1 of ")
        assert float(line.get_attribute("x1")) < last
        page.get_by_role("button", name="Play").click()
        page.locator("#told", has_not_text=re.compile("^1 of ")).wait_for()
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        keep(page, "demo", width, scheme)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_sliders_of_the_open_bench(browser: Any, width: int, scheme: str) -> None:
    """At the caps of the page they tell the page's ranks; without a call everybody has the initial candidate."""
    folder = Path(__file__).parents[3] / "docs/reference"
    first = (folder / "open-bench.md").read_text().split("\n## ")[1].partition("Minus `BestOfN`")[0]
    ranks = {name: float(rank) for name, rank in re.findall(r"(?m)^\| (\S+) \| .* \| (\d+\.\d\d) \|$", first)}

    def told(page: Any) -> dict[str, list[str]]:
        lines = [line.locator("td").all_inner_texts() for line in page.locator("#rows tr").all()]
        return {cells[0]: cells for cells in lines}

    with reading(browser, width=width, scheme=scheme) as page:
        page.goto(f"file://{folder}/open-bench/what-if.html")
        page.wait_for_selector("#rows tr")
        rows = told(page)
        assert {name: float(rows[name][1]) for name in ranks} == pytest.approx(ranks, abs=0.011)
        assert len(ranks) > 20
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        keep(page, "what-if", width, scheme)
        page.locator("#prompt").press("Home")
        page.locator("#completion").press("End")
        dearer = told(page)["BestOfN"]
        assert 0 < float(dearer[7]) != float(rows["BestOfN"][7])
        page.locator("#calls").press("Home")
        asking = [c for c in told(page).values() if float(rows[c[0]][5]) > 0 and c[2] != "missing"]
        assert len(asking) > 20
        assert {(c[2], float(c[7])) for c in asking} == {(asking[0][2], 0.0)}


@pytest.mark.skipif(not SITE, reason="There is no site of the docs: bash .ci/site DIR, then TRACEBENCH_SITE=DIR")
def test_every_page_of_the_docs(browser: Any) -> None:
    """Each in one of the looks: what all have in common is seen in each of them. Colours are the theme's: one page in five tells them."""
    found: list[str] = []
    pages = sorted(Path(SITE).rglob("*.html"))
    assert len(pages) > 50
    with hosted(Path(SITE)) as home:
        for start, (width, scheme) in enumerate(LOOKS):
            with reading(browser, width=width, scheme=scheme, home=home) as page:
                for number, path in enumerate(pages[start :: len(LOOKS)]):
                    page.goto(f"{home}/{path.relative_to(SITE)}")
                    place = f"{path.relative_to(SITE)} at {width}, {scheme}"
                    found += [f"{place}: {told}" for told in axe(page, contrast=number % 5 == 0)]
                    across = page.evaluate("document.documentElement.scrollWidth")
                    found += [f"{place}: {across} wide"] if across > width else []
    assert not found, "\n".join(found)
