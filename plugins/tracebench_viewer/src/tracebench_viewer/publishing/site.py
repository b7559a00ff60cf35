"""Writes runs as a site: a list, a page for each run and job, comparisons, what failed; addresses are the runs' and jobs' names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.errors import RunDirError, TraceBenchError, quoted
from tracebench_engine.api import open_host
from tracebench_engine.api.analysis import AnalysedRun, build_views
from tracebench_engine.api.console.writing import put
from tracebench_engine.api.judging.reports import (
    CHARTS_SCRIPT,
    CHARTS_STYLE,
    PAGE_STYLE,
    VIEW_KINDS,
    Drawn,
    best_jobs,
    chart_library,
    views_html,
)
from tracebench_engine.api.records import read_whole
from tracebench_engine.api.verdicts import verdict_at_end
from tracebench_viewer.comparing import compute
from tracebench_viewer.index import read_rows
from tracebench_viewer.jobview import read_job
from tracebench_viewer.look import NOTHING, duration, mark
from tracebench_viewer.publishing import markup
from tracebench_viewer.publishing.jobpage import render_job
from tracebench_viewer.publishing.markup import Cell
from tracebench_viewer.shelf import FAILED
from tracebench_viewer.shown import beginning, words

ASSETS = Path(__file__).parents[1] / "assets"
MARK = "trace-bench-site.json"
"""Tells a site of ours from another folder, and which runs it holds."""
MOST_VIEWED = 40
"""Best jobs of a run whose views are published, one for each task."""


@dataclass(frozen=True, slots=True)
class Published:
    """One run that is published."""

    name: str
    run: AnalysedRun
    row: dict[str, Any]
    jobs: list[dict[str, Any]]
    verdict: str


def write_site(runs: Mapping[str, AnalysedRun], out: Path) -> int:
    """Write the site of some runs, by the names that they have in it, and return its size in bytes.

    Raises:
        RunDirError: when a run cannot be read.
        MissingRequirementError: when what draws charts is not installed.
        OSError: when the folder cannot be written.
    """
    library = chart_library()
    every = [_read(name, run) for name, run in runs.items()]
    files = _Files(out)
    if not (out / MARK).exists():
        files.write(
            json.dumps({"schema_version": 1, "runs": []}) + "\n", MARK
        )  # so that it can be written again should this end early
    for name in ("diff.js", "diff.css", "site.js", "site.css"):
        files.write((ASSETS / name).read_text(encoding="utf-8"), "assets", name)
    for name, content in {
        "page.css": PAGE_STYLE,
        "charts.css": CHARTS_STYLE,
        "charts.js": CHARTS_SCRIPT,
        "vega.js": library,
    }.items():
        files.write(content, "assets", name)
    files.write(_list_page(every), "index.html")
    files.write(_failures_page(every), "failures.html")
    files.write(_compare_page(every), "compare.html")
    catalog = open_host().catalog()
    for published in every:
        run, name = published.run, published.name
        shown = [Drawn(view.title, view) for view in build_views(catalog, run, None, kinds=VIEW_KINDS)]
        files.write(_run_page(published, shown), "runs", name, "index.html")
        viewed = {*best_jobs(run)[:MOST_VIEWED]}
        for job in run.planned:
            views = build_views(catalog, run, job.job_id, kinds=VIEW_KINDS) if job.job_id in viewed else ()
            page = render_job(name, read_job(run, job.job_id), views=[Drawn(view.title, view) for view in views])
            files.write(page, "runs", name, "jobs", f"{job.job_id}.html")
    files.write(json.dumps({"schema_version": 1, "runs": sorted(runs)}, indent=1) + "\n", MARK)
    return sum(files.sizes.values())


class _Files:
    def __init__(self, out: Path) -> None:
        self._out = out
        self.sizes: dict[Path, int] = {}

    def write(self, text: str, *names: str) -> None:
        content = text.encode("utf-8", "replace")
        path = self._out.joinpath(*names)
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, content)
        self.sizes[path] = len(content)


def _read(name: str, run: AnalysedRun) -> Published:
    try:
        row, jobs = read_rows(run.layout)
    except TraceBenchError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        raise RunDirError(
            f"`{run.layout.path}` cannot be read: {err}.", hint=f"trace-bench fsck {quoted(run.layout.path)}"
        ) from err
    return Published(name, run, row, jobs, verdict_at_end(run).sentence)


def _list_page(every: Sequence[Published]) -> str:
    rows = []
    for p in sorted(every, key=lambda p: p.row["created_at"] or "", reverse=True):
        counts = p.row["counts"]
        rows.append([
            Cell(p.name, markup.address("runs", p.name, "index.html")), _state(p.row), _day(p.row["created_at"]),
            _took(p.row["wall_seconds"]), p.row["jobs"], sum(counts.get(s, 0) for s in ("failed", "timeout")), p.verdict,
            p.row["usd"], p.row["tokens"], *(_names(p.row[column]) for column in ("tasks", "trainers", "models", "tags")),
        ])  # fmt: skip
    headers = (
        "run", "state", "started (UTC)", "took", "jobs", "failed", "verdict", "USD", "tokens", "tasks", "trainers", "model", "tags",
    )  # fmt: skip
    chosen = ("state", "tasks", "trainers", "model", "tags")
    return markup.page("Runs", [markup.table(headers, rows, caption="Runs", choose=chosen)], depth=0)


def _failures_page(every: Sequence[Published]) -> str:
    groups: dict[tuple[str, str, str, str], list[tuple[str, dict[str, Any]]]] = {}
    for p in every:
        for job in p.jobs:
            if job["status"] in FAILED:
                key = (job["error_type"] or job["status"], job["status"], job["task"], job["trainer"])
                groups.setdefault(key, []).append((p.name, job))
    if not groups:
        return markup.page("Failures", ["<p>No job failed.</p>"], depth=0)
    rows: list[list[Cell | str | float | None]] = []
    for (error, status, task, trainer), found in sorted(groups.items(), key=lambda group: -len(group[1])):
        name, job = found[0]
        link = markup.address("runs", name, "jobs", f"{job['job_id']}.html")
        said = words(job["feedback"] or job["stop_reason"] or "")
        rows.append([Cell(error, link), mark(status), task, trainer, len(found), len({run for run, _ in found}), said])
    headers = ("error", "status", "task", "trainer", "jobs", "runs", "said")
    told = "Jobs that failed, timed out, were cancelled or skipped; each error leads to one of its jobs"
    return markup.page(
        "Failures", [markup.table(headers, rows, caption=told, choose=("status", "task", "trainer"))], depth=0
    )


def _run_page(p: Published, views: Sequence[Drawn]) -> str:
    row, name = p.row, p.name
    counts = row["counts"]
    viewed, charts = views_html(views)
    compared, figures = _comparison([p.run])
    failed = [job for job in p.jobs if job["status"] in {"failed", "timeout"}]
    said = Counter(
        f"{job['error_type'] or job['status']}: {job['feedback'] or job['stop_reason'] or ''}" for job in failed
    )
    errors = "".join(
        f'<p class="error">{n} {"job" if n == 1 else "jobs"}: {markup.text(words(what))}</p>'
        for what, n in said.most_common(3)
    )
    facts = [
        ("State", _state(row)),
        ("Started (UTC)", _day(row["created_at"]) or NOTHING),
        ("Took", duration(row["wall_seconds"])),
        ("Jobs", f"{row['jobs'] - counts.get('not_run', 0)} of {row['jobs']}"),
        ("Failed", str(len(failed))),
        ("Tokens", NOTHING if row["tokens"] is None else f"{row['tokens']:,}"),
        ("Cost", "unknown" if row["usd"] is None else f"{row['usd']:.4f} USD"),
        ("Protection", row["protection"] or NOTHING),
    ]
    parts = [
        errors,
        markup.facts(facts),
        f'<p class="note">{markup.text(p.verdict)} <a href="#comparison">More</a></p>',
        markup.section("Jobs", _jobs_table(p.jobs)),
        '<span id="comparison"></span>',
        markup.section("Comparison", *compared),
        viewed,
        markup.section("Config", f"<details><summary>As it was run</summary>{markup.long_text(_config(p))}</details>"),
    ]
    return markup.page(f"Run {name}", parts, depth=2, data={"charts": charts | figures})


def _jobs_table(jobs: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for job in jobs:
        prompt, completion = job["prompt_tokens"], job["completion_tokens"]
        gain = None if job["best"] is None or job["initial"] is None else job["best"] - job["initial"]
        rows.append([
            Cell(job["job_id"], f"jobs/{markup.address(job['job_id'])}.html"), mark(job["status"]), job["task"], job["trainer"],
            job["seed"], job["initial"], job["best"], gain, job["test"], job["evaluations"],
            None if prompt is None or completion is None else prompt + completion, job["usd"], job["seconds"], words(job["feedback"] or ""),
        ])  # fmt: skip
    headers = (
        "job", "status", "task", "trainer", "seed", "initial", "best", "gain", "test", "evaluations", "tokens", "USD", "seconds", "said",
    )  # fmt: skip
    told = "Jobs; score: on validation, or on train where a task has no validation examples"
    return markup.table(headers, rows, caption=told, choose=("status", "task", "trainer", "seed"))


def _compare_page(every: Sequence[Published]) -> str:
    parts, charts = _comparison([published.run for published in every])
    single = [
        f'<li><a href="{markup.address("runs", p.name, "index.html")}#comparison">{markup.text(p.name)}</a>: {markup.text(p.verdict)}</li>'
        for p in every
    ]
    alone = markup.section("Each run alone", f"<ul>{''.join(single)}</ul>") if len(every) > 1 else ""
    return markup.page("Compare", [*parts, alone], depth=0, data={"charts": charts})


def _comparison(runs: Sequence[AnalysedRun]) -> tuple[list[str], dict[str, Any]]:
    """Return what a comparison says, and its charts by the id of the place of each; why runs cannot be compared, where they cannot."""
    try:
        found = compute(runs, baseline=None, axis="evaluations")
    except TraceBenchError as err:
        return [f'<p class="verdict">{markup.text(err)}</p>'], {}
    data = found["data"]
    remarks = "".join(f"<li>{markup.text(remark)}</li>" for remark in data["remarks"])
    places = {f"figure-{name}": figure["caption"] for name, figure in found["figures"].items()}
    tables = [
        markup.section(
            section["title"],
            markup.table(
                [header or "verdict" for header in section["headers"]],
                section["rows"],
                caption=section["title"],
                plain=True,
            ),
            note=section["note"],
        )
        for section in found["tables"]
    ]
    parts = [
        f'<p class="verdict">{markup.text(data["verdict"])}</p>',
        f'<p class="note">{markup.text(data["next_step"])}</p>' if data["next_step"] else "",
        f'<ul class="note">{remarks}</ul>' if remarks else "",
        markup.charts(places),
        *tables,
    ]
    return parts, {f"figure-{name}": figure["spec"] for name, figure in found["figures"].items()}


def _config(p: Published) -> str:
    try:
        return beginning(read_whole(p.run.layout.config_snapshot).decode(errors="replace"))
    except OSError:
        return ""


def _state(row: Mapping[str, Any]) -> str:
    return mark("stopped" if row["exit_code"] is None or row["counts"].get("not_run") else "ended")


def _day(created_at: str | None) -> str:
    return (created_at or "")[:16].replace("T", " ")


def _took(seconds: float | None) -> Cell:
    return Cell(duration(seconds), key="" if seconds is None else repr(seconds))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)
