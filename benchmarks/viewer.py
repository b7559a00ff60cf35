"""How quick the viewer is over many runs: `PYTHONPATH=. python benchmarks/viewer.py [--runs N] [--jobs N] [--soak SECONDS]`.

Needs Streamlit, playwright and Chromium. Real runs are made and copied; a real browser with a cache, as people have it, opens pages until
their script has ended and their tables and charts stand. The baseline is the same page over a folder with one run of one job. `--data`
keeps the runs that were made, for another time. With `--soak`, six sessions watch a run that goes on, and the memory of the server is told
every minute.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from plugins.tracebench_viewer.tests.visiting import Visitor, at_home, browsing, served, visiting
from tests.unit.store.samples import candidate, evaluation, started

from tracebench_core.specs import BudgetState
from tracebench_core.specs.events import BestChanged, Event, LLMCall
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.reading.reader import load_run
from tracebench_runs.storage.layout import RunLayout
from tracebench_viewer.index import Index

SESSIONS = 6
CANDIDATES, EXAMPLES = 200, 50
LIVE = ("job", "run", "", "compare", "failures", "run")


def make(folder: Path, name: str, *, jobs: int) -> Path:
    """Run jobs that change nothing, and return their run."""
    config = {
        "mode": "stub", "run_id": name, "runs_dir": str(folder), "seeds": list(range(1, jobs + 1)),
        "tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "max_workers": 2,
    }  # fmt: skip
    with Path(os.devnull).open("w") as nowhere:
        api.run(parse_config(config), stream=nowhere)
    return folder / name


def copy(run: Path, name: str) -> None:
    """Copy what the list of runs is made of, under another name."""
    target = RunLayout(run.parent / name)
    shutil.copytree(run, target.path, ignore=shutil.ignore_patterns("jobs", "journal-*", "llm", ".*"))
    target.manifest.write_text(target.manifest.read_text().replace(f'"run_id": "{run.name}"', f'"run_id": "{name}"', 1))


def long_job(run: Path, *, events: int) -> None:
    """Give the run's first job as many events as are asked for, unsealed as those of a job under way."""
    spec = load_run(run).planned[0]
    layout = RunLayout(run).job(spec.job_id)
    for journal in run.glob("journal-*"):
        journal.unlink()
    layout.results.unlink()
    with layout.events.open("w") as log:
        for seq, event in enumerate(_events(started(spec), events)):
            stamped = event.model_copy(update={"seq": seq, "t": "2030-01-01T00:00:00+00:00", "mono": seq / 50})
            log.write(stamped.model_dump_json() + "\n")


def _events(first: Event, count: int) -> Iterator[Event]:
    yield first
    left, number = count - 1, 0
    while left > 0:
        name = f"c{number}"
        group: list[Event] = [
            candidate(name, values={"x": float(number)}, parents=(f"c{number // 2}",) if number else ())
        ]
        group.append(
            LLMCall(call=number, role="optimizer", model="m", status="ok", prompt_tokens=900, completion_tokens=90)
        )
        per = max(1, count // CANDIDATES - 3)
        group += [evaluation(name, f"e{k % EXAMPLES}", number + k / per, feedback="words " * 20) for k in range(per)]
        group.append(BestChanged(candidate=name, score=float(number), used=BudgetState(evaluations=number * per)))
        yield from group[:left]
        left, number = left - len(group), number + 1


def paint(visitor: Visitor, path: str, *, wait: str) -> float:
    """Open an address and return the seconds until what is waited for stands."""
    began = time.perf_counter()
    visitor.page.goto(visitor.url + path)
    visitor.page.wait_for_selector(wait)
    visitor.page.wait_for_selector("[data-test-script-state=notRunning]")
    return time.perf_counter() - began


def change(visitor: Visitor, page: str, *, wait: str) -> float:
    """Click a page in the side bar and return the seconds until what is waited for stands."""
    began = time.perf_counter()
    visitor.page.get_by_role("link", name=page, exact=True).first.click()
    visitor.page.wait_for_selector(f"h1 >> text=/^{page}$/")
    visitor.page.wait_for_selector(wait)
    visitor.page.wait_for_selector("[data-test-script-state=notRunning]")
    return time.perf_counter() - began


def away_and(visitor: Visitor, page: str, wait: str) -> float:
    """Go to another page first, then measure the change."""
    change(visitor, "Failures" if page != "Failures" else "Runs", wait="h1")
    return change(visitor, page, wait=wait)


def repeated(measure: Callable[[], float], times: int) -> str:
    """Return the median of some measurements, with the worst."""
    found = [measure() for _ in range(times)]
    return f"{statistics.median(found):.2f} s (worst {max(found):.2f})"


def memory(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def viewed(runs_dir: Path, at: Path, pid: list[int]) -> Iterator[tuple[str, Visitor]]:
    """Serve a folder and open a tab that has loaded the browser's part of Streamlit once, in front of a page without runs."""
    with served(runs_dir, at, pid=pid) as url, at_home(at / "browser") as browser:
        visitor = Visitor(browser.new_page(), url)
        paint(visitor, "installed", wait="h1")
        yield url, visitor


TABLE = "[data-testid=stDataFrame] canvas"
CHART = "svg.marks"


def main() -> None:
    """Measure, and print goals beside what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--large", type=int, default=1000, help="jobs of the large run")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--data", type=Path, help="folder in which the runs are made, and found again")
    parser.add_argument("--soak", type=float, default=0.0, metavar="SECONDS")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        at = Path(scratch)
        os.environ["XDG_CACHE_HOME"] = str(at / "cache")
        if asked.soak:
            soak(at, asked.soak)
        else:
            print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
            pages(at, asked)


def pages(at: Path, asked: argparse.Namespace) -> None:
    """Measure index, pages and memory."""
    data = asked.data or at
    runs, alone = data / "runs", data / "alone"
    if not (runs / "large" / "summary.json").exists():
        fill(runs, alone, asked)
    index(runs, at)
    with viewed(alone, at, []) as (_, visitor):
        base = statistics.median(paint(visitor, "", wait=TABLE) for _ in range(asked.times))
    pid: list[int] = []
    with viewed(runs, at, pid) as (_, visitor):
        print(f"first paint, nothing indexed   {paint(visitor, '', wait=TABLE):.2f} s (goal 2)")
        while visitor.page.locator("text=still to be read").count():
            visitor.page.wait_for_timeout(500)
        seen = statistics.median(paint(visitor, "", wait=TABLE) for _ in range(asked.times))
        print(f"first paint, indexed           {seen:.2f} s (goal 2); ratio to one run of one job {seen / base:.2f}")
        visitor.open("")
        for page, wait in (("Run", TABLE), ("Job", "h1"), ("Runs", TABLE), ("Failures", "h1")):
            print(
                f"page change to {page:<15} {repeated(lambda p=page, w=wait: away_and(visitor, p, w), asked.times)} (goal 1)"
            )
        address = f"job?run=long&job={load_run(runs / 'long').planned[0].job_id}"
        print(f"a job of {asked.events} events, first {paint(visitor, address, wait=CHART):.2f} s (goal 1.5)")
        print(
            f"a job of {asked.events} events, again {repeated(lambda: paint(visitor, address, wait=CHART), asked.times)}"
        )
        for path in ("", "run?run=large", address, "compare?runs=run-0000", "failures", "installed"):
            Visitor(visitor.page.context.new_page(), visitor.url).open(path)
        print(f"memory with {SESSIONS} sessions         {memory(pid[0]):.0f} MB (goal 600)")


def fill(runs: Path, alone: Path, asked: argparse.Namespace) -> None:
    """Make the runs: many that are alike, one with a long job, and a large one."""
    make(alone, "one", jobs=1)
    made = make(runs, "run-0000", jobs=asked.jobs)
    for i in range(1, asked.runs):
        copy(made, f"run-{i:04}")
    long_job(make(runs, "long", jobs=1), events=asked.events)
    make(runs, "large", jobs=asked.large)  # the latest: pages that are opened without an address show it


def index(runs: Path, at: Path) -> None:
    """Measure the index alone."""
    found = Index(runs, file=at / "index.sqlite")
    began = time.perf_counter()
    every = found.refresh().read
    cold = time.perf_counter() - began
    copy(runs / "run-0000", f"one-more-{time.time_ns()}")
    began = time.perf_counter()
    read = found.refresh().read
    again = time.perf_counter() - began
    after = f"after one more run {len(read)} is read, {again:.3f} s"
    print(f"index: {len(every)} runs in {cold:.1f} s; {after}, ratio {again / cold:.4f}")
    found.close()


def soak(at: Path, seconds: float) -> None:
    """Watch a run that goes on from six sessions, and tell the server's memory."""
    runs = at / "runs"
    make(runs, "first", jobs=5)
    over = threading.Event()

    def go_on() -> None:
        number = 0
        while not over.is_set():
            make(runs, f"live-{number:05}", jobs=200)
            number += 1

    background = threading.Thread(target=go_on)
    pid: list[int] = []
    marks: list[float] = []
    with browsing() as browser, served(runs, at, pid=pid) as url, ExitStack() as stack:
        background.start()
        try:
            for path in LIVE:
                stack.enter_context(visiting(browser, url)).open(path)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(min(60.0, seconds / 10))
                marks.append(memory(pid[0]))
                print(f"{len([*runs.iterdir()])} runs, {marks[-1]:.0f} MB", flush=True)
        finally:
            over.set()
            background.join()
    half = len(marks) // 2
    before, after = statistics.median(marks[:half]), statistics.median(marks[half:])
    print(
        f"median of the first half {before:.0f} MB, of the second {after:.0f} MB: ratio {after / before:.3f} (goal 1.05)"
    )


if __name__ == "__main__":
    main()
