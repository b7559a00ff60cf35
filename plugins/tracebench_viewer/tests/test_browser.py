"""The viewer in a real browser that reaches this machine and nothing else."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from plugins.tracebench_viewer.tests.visiting import IN_A_BROWSER, PATIENCE, command, served, visiting

from tracebench_engine.api.records import live_runs
from tracebench_viewer.look import number

pytestmark = [*IN_A_BROWSER, pytest.mark.timeout(900)]
PAGES = {
    "": "Runs", "run": "Run", "job": "Job", "compare": "Compare", "failures": "Failures", "launch": "Launch",
    "installed": "Tasks and trainers",
}  # fmt: skip


def asked(page: Any) -> dict[str, str]:
    """Return what the address names."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_every_page_is_there_and_asks_nothing_of_the_network(browser: Any, runs_dir: Path, tmp_path: Path) -> None:
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        for path, title in PAGES.items():
            visitor.open(path)
            assert visitor.page.inner_text("h1") == title


def test_clicks_lead_from_the_list_to_a_candidate_and_show_what_the_command_says(
    browser: Any, runs_dir: Path, tmp_path: Path
) -> None:
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        page = visitor.page
        visitor.open("")
        visitor.click_row(0)
        page.wait_for_url("**/run?*")
        assert asked(page) == {"run": "first"}
        told = json.loads(command("show", str(runs_dir / "first"), "--json"))
        visitor.until(f"{len(told['jobs'])} of {len(told['jobs'])}")

        visitor.click_row(0, at=60)
        page.wait_for_url("**/job?*")
        job_id = told["jobs"][0]["job_id"]
        assert asked(page) == {"run": "first", "job": job_id}
        job = json.loads(command("show", str(runs_dir / "first" / "jobs" / job_id), "--json"))
        visitor.until(number(job["result"]["score_val_best"]))
        assert "number" in visitor.text()
        assert f"Candidate {job['best']['id']}" in visitor.text()

        history = runs_dir / "first" / "jobs" / job_id / "artifacts" / "state_history.jsonl"
        seen = [json.loads(line) for line in history.read_text().splitlines()]
        marks = page.locator("[data-testid=stVegaLiteChart]").first.locator("g.mark-symbol.role-mark path")
        marks.first.wait_for()
        assert marks.count() == len(seen)
        visitor.click_mark(1)
        page.wait_for_function("location.search.includes('candidate=')")
        clicked = asked(page)["candidate"]
        assert clicked != job["best"]["id"]
        visitor.until(f"Candidate {clicked}")
        score = next(line["score"] for line in seen if line["candidate"] == clicked)
        visitor.until(f"score {number(score)}")

        visitor.open(f"job?run=first&job={job_id}&candidate={clicked}")
        visitor.until(f"Candidate {clicked}")


def test_the_axis_is_switched(browser: Any, runs_dir: Path, tmp_path: Path) -> None:
    job_id = json.loads(command("show", str(runs_dir / "first"), "--json"))["jobs"][0]["job_id"]
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        for address in (f"job?run=first&job={job_id}", "compare?runs=first"):
            visitor.open(address)
            visitor.page.get_by_role("radio", name="tokens").or_(
                visitor.page.locator("button", has_text=re.compile("^tokens$"))
            ).first.click()
            visitor.page.locator("svg.marks text", has_text=re.compile("tokens used|tokens")).first.wait_for()
            visitor.settle()


def test_an_evaluation_tells_its_comparison_and_its_rows(browser: Any, tmp_path: Path) -> None:
    for name, x in (("near", 2.9), ("far", -4)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"x": x}))
    files = [str(tmp_path / "near.json"), str(tmp_path / "far.json")]
    runs = tmp_path / "evaluated"
    told = json.loads(
        command(
            "evaluate",
            "internal:numeric_param",
            *files,
            "--seeds",
            "2",
            "--run-id",
            "e",
            "--runs-dir",
            str(runs),
            "--json",
        )
    )
    with served(runs, tmp_path) as url, visiting(browser, url) as visitor:
        visitor.open("run?run=e")
        visitor.until("+6.9")  # of the pair, question by question
        visitor.open(f"job?run=e&job={told['candidates'][0]['jobs'][0]}")
        visitor.until("Nothing was trained: the candidate was given.")
        visitor.page.get_by_role("tab", name="Examples").click()
        visitor.page.locator("[data-testid=stTabs] canvas, [data-testid=stTabs] svg").first.wait_for()


@pytest.fixture
def own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of runs of this test alone; what is still under way in it is ended with the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "runs"
    folder.mkdir()
    yield folder
    for run in live_runs(folder):
        if Path(run.run_dir).parent == folder.resolve() and run.pid is not None:
            os.kill(run.pid, signal.SIGTERM)


def test_a_run_is_launched_paused_and_cancelled_with_a_reason(browser: Any, tmp_path: Path, own_runs: Path) -> None:
    runs_dir = own_runs
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        page = visitor.page
        visitor.open("launch")
        # as many jobs as take minutes where one takes a hundredth of a second
        tasks, trainers = ("numeric_param", "multi_param"), ("RandomSearch", "SequentialRefine", "BestOfN")
        wishes = [("Tasks", f"internal:{task}") for task in tasks] + [("Trainers", trainer) for trainer in trainers]
        for label, wanted in wishes:
            box = page.get_by_label(label, exact=True).last
            box.click()
            box.fill(wanted)
            page.get_by_role("option", name=wanted, exact=True).first.click()
            page.keyboard.press("Escape")
            visitor.settle()
        seeds = page.get_by_label("Seeds", exact=True)
        seeds.fill("1000")
        seeds.press("Enter")
        visitor.settle()
        page.get_by_role("button", name="Plan").click()
        visitor.until("6000 jobs")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/run?*")
        name = asked(page)["run"]
        for _ in range(3):
            press(page, "Pause", then="Go on")
            press(page, "Go on", then="Pause")
        cancel = page.get_by_role("button", name="Cancel", exact=True)
        assert cancel.is_disabled()
        reason = page.get_by_label("Reason")
        reason.fill("enough <b>seen</b>")
        reason.press("Enter")
        cancel.click()
        visitor.until("jobs were not run")
        asked_of_it = [json.loads(line) for line in (runs_dir / name / "control.jsonl").read_text().splitlines()]
        assert [line["action"] for line in asked_of_it][-3:] == [
            "pause",
            "unpause",
            "cancel",
        ]
        assert asked_of_it[-1]["reason"] == "enough <b>seen</b>"
        while not (runs_dir / name / "summary.json").is_file():  # its last file; the limit of a test ends this, too
            time.sleep(0.2)
        told = json.loads(command("show", str(runs_dir / name), "--json"))
        visitor.open(f"run?run={name}")
        done = len(told["jobs"]) - told["counts"].get("not_run", 0)
        visitor.until(f"{done} of {len(told['jobs'])}")
        assert not page.query_selector_all("b:has-text('seen')")


def press(page: Any, name: str, *, then: str) -> None:
    """Press a button until another has taken its place, as people do: on a busy machine a press is lost now and then."""
    from playwright.sync_api import TimeoutError as TookTooLong

    for _ in range(5):
        with suppress(TookTooLong):  # it may have been taken after all, and be gone
            page.get_by_role("button", name=name).click(timeout=PATIENCE / 5)
        with suppress(TookTooLong):
            page.get_by_role("button", name=then).wait_for(timeout=PATIENCE / 5)
            return
    raise AssertionError(f"`{name}` was pressed five times, and `{then}` did not come")


def test_the_browser_of_these_tests_reaches_this_machine_alone(browser: Any, runs_dir: Path, tmp_path: Path) -> None:
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        visitor.open("")
        for address in ("http://192.0.2.1/", "http://example.com/"):
            ask = "async address => { try { await fetch(address, {mode: 'no-cors'}); return true } catch { return false } }"
            assert visitor.page.evaluate(ask, address) is False
        assert visitor.strayed == ["http://192.0.2.1/", "http://example.com/"]
        visitor.strayed.clear()
