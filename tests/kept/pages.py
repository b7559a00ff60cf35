"""What the viewer's and published pages say and draw of a run with events of every kind: as rows, as markup, and the data in it."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.kept.store import Said, said_of_each
from tests.kept.stored import JOBS, made
from tests.kept.text import digest_of, text_of
from tests.unit.store.samples import candidate
from tracebench_core.errors import UsageError
from tracebench_engine.api.analysis import open_run
from tracebench_runs.results.summary import RunEnd
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.layout import RunLayout
from tracebench_viewer import jobcharts
from tracebench_viewer.calltexts import message_text
from tracebench_viewer.comparing import config_differences, key_of
from tracebench_viewer.diffs import as_text, side_by_side
from tracebench_viewer.index import Index, read_rows
from tracebench_viewer.jobview import JobView, Seen, read_job, worst_examples
from tracebench_viewer.launching import Wish, config_text, known_configs
from tracebench_viewer.lineage import FEW, MOST, SMALL, lineage
from tracebench_viewer.look import duration, mark, number
from tracebench_viewer.publishing import markup, site
from tracebench_viewer.publishing.jobpage import render_job
from tracebench_viewer.publishing.markup import Cell
from tracebench_viewer.shelf import Filter, Shelf
from tracebench_viewer.shown import LONGEST_TEXT, LONGEST_WORDS, MOST_LINES, beginning, visible, words

PACKED = re.compile(r'<script type="application/octet-stream" id="packed">(.*?)</script>')
BLOCK = re.compile(r"(<(?:h1|h2|table|tr|figure|dl|div|p|pre|section|script|select|nav|ul|li)\b)")
LONG = 400
CHARTED = '<script src="../../assets/vega.js"></script>'
"""What a page asks for where it has charts; a comparison has them where altair is."""


def _tabled(folder: Path) -> RunLayout:
    """Make the run, with the tables that its end writes."""
    layout = made(folder)
    writer = TableWriter(layout, [*JOBS.values()])
    writer.load()
    writer.finish(RunEnd(0, 3725.0, 2.0))
    return layout


def _markup(page: str) -> Iterator[str]:
    """Yield a page by its blocks, and the data in it by its fields."""
    found = PACKED.search(page)
    main = page[page.index("<main>") if "<main>" in page else 0 :]
    for line in BLOCK.sub(r"\n\1", PACKED.sub("", main)).split("\n"):
        yield line if len(line) < LONG else f"{line[:LONG]}… {digest_of(line)}"
    yield f"head: {digest_of(page[: page.index('<main>')])}" if "<main>" in page else "no head"
    if found is not None:
        data = json.loads(gzip.decompress(base64.b64decode(found[1])))
        for name, value in data.items():
            told = text_of(value)
            yield f"data {name}: {told if len(told) < LONG else f'{told[:LONG]}… {digest_of(value)}'}"


def _jobs(folder: Path) -> Iterator[str]:
    run = open_run(made(folder / "run").path)
    for name, job in JOBS.items():
        view = read_job(run, job.job_id)
        yield f"{name}: {view.events} events, doing {view.doing!r}, axes {view.axes()}"
        for what in ("table", "matrix", "call_rows", "usage_rows"):
            yield from (f"  {what}: {text_of(row)}" for row in getattr(view, what)())
        for axis in ("evaluations", "tokens", "usd", "seconds"):
            yield f"  {axis}: {text_of(view.curve(axis))} {text_of(view.points(axis))}"
        yield f"  worst: {worst_examples(view.matrix())} {[text_of(view.values(c))[:60] for c in view.candidates]}"
        yield f"  charts: {_charts(view)}"


def _charts(view: JobView) -> str:
    nodes, edges = lineage(view.candidates)
    cells = view.matrix()
    drawn = {
        "score": jobcharts.score_chart(view.curve("tokens"), view.points("tokens"), axis="tokens"),
        "seconds": jobcharts.score_chart(view.curve("seconds"), view.points("seconds"), axis="seconds"),
        "lineage": jobcharts.lineage_chart(nodes, edges),
        "matrix": jobcharts.matrix_chart(cells, worst_examples(cells)),
    }
    return " ".join(f"{what} {digest_of(spec)}" for what, spec in drawn.items())


def _trees(folder: Path) -> Iterator[str]:
    def tree(size: int, parent: Callable[[int], int], led: Sequence[int] = ()) -> dict[str, Seen]:
        found: dict[str, Seen] = {}
        for n in range(size):
            above = (f"c{parent(n)}",) if n else ()
            seen = Seen(candidate(f"c{n}", parents=above), n, score=None if n % 7 == 3 else n % 11 / 4)
            seen.verdict = "led" if n in led else "no verdict"
            seen.generation = found[above[0]].generation + 1 if above else 0
            found[f"c{n}"] = seen
        return found

    shapes: Mapping[str, dict[str, Seen]] = {
        f"{SMALL} of one": tree(SMALL, lambda n: 0), f"{SMALL + 1} of one": tree(SMALL + 1, lambda n: 0),
        "by threes": tree(60, lambda n: (n - 1) // FEW), "by fours": tree(60, lambda n: (n - 1) // (FEW + 1)),
        "a line": tree(MOST, lambda n: n - 1, [9]), "a longer line": tree(MOST + 1, lambda n: n - 1, [9, 12]), "none": {},
    }  # fmt: skip
    for name, candidates in shapes.items():
        nodes, edges = lineage(candidates) if candidates else ([], [])
        folded = [(node["candidate"], node["count"], node["verdict"]) for node in nodes if node["count"] > 1]
        yield f"{name}: {len(nodes)} nodes {len(edges)} edges {folded} {digest_of([nodes, edges])}"
        yield f"  {text_of(nodes[-1:])} {text_of(edges[-1:])} {digest_of(jobcharts.lineage_chart(nodes, edges))}"


TEXTS: Sequence[tuple[str, str]] = (
    ("a\nb\nc", "a\nb\nc"), ("a b c", "a x c"), ("alpha beta", "nothing alike"), ("", "new\nlines"), ("old\nlines", ""), ("a\n" * 20,
    "a\n" * 9 + "b\n" + "a\n" * 10),
    ("w " * 200, "w " * 200 + "x"), ("w " * 199, "w " * 198 + "x"), ("x" * 2001, "x" * 2000), ("l\n" * 2001, "l\n" * 2002), ("a.b c",
    "a.c c"),
    ("1\n2\n3\n4\n5\n6\n7\n8\n9", "0\n2\n3\n4\n5\n6\n7\n8\n0"), ("1\n2\n3\n4\n5\n6\n7\n8\n9\n9", "0\n2\n3\n4\n5\n6\n7\n8\n9\n0"),
)  # fmt: skip


def _small(folder: Path) -> Iterator[str]:
    for before, after in TEXTS:
        rows = side_by_side(before, after)
        yield f"side by side, {len(before)} and {len(after)}: {len(rows)} rows {digest_of(rows)} {text_of(rows[:4])[:LONG]}"
    for value in ("a", {"b": 1, "a": "é"}, 1.5, None):
        yield f"as_text: {as_text(value)!r}"
    for seconds in (None, 0, 0.04, 59.96, 60, 61, 3599, 3600, 3661, 86399, 86400, 90061, 200000):
        yield f"duration {seconds}: {duration(seconds)}"
    for figure in (None, 0, 3, 99999, 100000, 1234567, 0.5, 1 / 3, 99999.5, 100000.5, -0.25, -123456.0):
        yield f"number {figure}: {number(figure)} {number(figure, 'USD')} {text_of(markup.number(figure))}"
    yield f"marks: {[mark(status) for status in ('ok', 'failed', 'running', 'paused', 'stopped', 'odd')]}"
    for length in (LONGEST_WORDS, LONGEST_WORDS + 1):
        yield f"words {length}: {len(words('x' * length))} {words('x' * length)[-2:]!r}"
    yield f"visible: {visible(chr(27) + chr(9) + chr(10) + chr(13) + chr(0x202E) + 'é')!r}"
    yield f"beginning: {len(beginning('x' * (LONGEST_TEXT + 1)))} {beginning('x' + chr(10) * (MOST_LINES + 5)).count(chr(10))}"
    for message in (
        {"content": "a"},
        {"content": ["b"], "name": "n"},
        {"content": None, "tool_calls": [1]},
        {"role": "r"},
        {"content": "", "x": 0},
    ):
        yield f"message: {message_text(message)!r}"
    for wish in (
        Wish(["a:b"], ["T"]),
        Wish(["a"], ["T", "U"], (1, 2), "real", "m", {"usd": 1.5}, 2, ("é",), record=True),
    ):
        yield f"config: {config_text(wish)!r}"
    for name in ("b.yaml", "a.yml", "c.txt"):
        (folder / name).touch()
    yield f"configs: {[path.name for path in known_configs(folder)]} {known_configs(folder / 'none')}"
    cells: Sequence[Cell | str | float | None] = (
        Cell("", "l&k"),
        "x" * 60,
        "x" * 61,
        3,
        0.5,
        None,
        Cell("-"),
        Cell("a", key="<k"),
    )
    yield markup.table([f"h{i}" for i in range(len(cells))], [cells], caption="c & d", choose=("h1",)).replace(
        "\n", " "
    )
    yield markup.table(["a"], [], caption="", plain=True)
    yield (
        markup.facts([("a", "<b>")])
        + markup.long_text("")
        + markup.long_text("x\n")
        + markup.section("t", "", note="n")
    )
    yield markup.section("t", "p", note="n&") + markup.section("t", "p") + markup.charts({}) + markup.charts({"i": "c"})
    yield markup.address("a b", "c/d", "é.html")
    key = {"stamps": ["s"], "baseline": None, "axis": "usd"}
    others = [{**key, "stamps": ["t"]}, {**key, "baseline": "b"}, {**key, "axis": "tokens"}]
    yield f"keys: {len({key_of(['r'], **key), *(key_of(['r'], **other) for other in others), key_of(['r2'], **key)})}"  # type: ignore[arg-type]


def _published(folder: Path) -> Iterator[str]:
    layout = _tabled(folder / "run")
    layout.config_snapshot.write_text("tags: [small, 1]\nseeds: [1]\ntrainers:\n- id: A\n")
    layout.job(JOBS["failed"].job_id).stdout.write_bytes(b"said\x1b\n" + b"x" * 5000)
    run = open_run(layout.path)
    for name in ("whole", "everything", "failed", "cut short", "not run"):
        yield from (f"{name}: {line}" for line in _markup(render_job("a run", read_job(run, JOBS[name].job_id))))
    published = site._read("a run", run)
    pages: Mapping[str, str] = {
        "list": site._list_page([published]),
        "failures": site._failures_page([published]),
        "no failures": site._failures_page([]),
        "run": site._run_page(published, []),
    }
    for name, page in pages.items():
        told = re.sub(r'<span id="comparison">.*?<h2>Config', "<h2>Config", page, flags=re.DOTALL)
        told = told.replace(CHARTED, "")
        yield from (f"{name}: {line}" for line in _markup(told) if not line.startswith("data charts"))


def _listed(folder: Path) -> Iterator[str]:
    runs = folder / "runs"
    runs.mkdir()
    (folder / "live").mkdir()
    layout = _tabled(runs / "one")
    layout.config_snapshot.write_text("tags: [small, 1]\n")
    (runs / "two/meta").mkdir(parents=True)
    (runs / "two/meta/manifest.json").write_text("{")
    (runs / "no run").mkdir()
    (runs / ".hidden/meta").mkdir(parents=True)
    row, jobs = read_rows(layout)
    yield from (f"{name}: {text_of(value)}" for name, value in row.items())
    yield from (f"job: {text_of(job)}" for job in jobs)
    with patch.dict(os.environ, {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_RUNTIME_DIR": str(folder / "live")}):
        shelf = Shelf(runs)
        while shelf.look(now=True).left:
            continue
        yield f"look: {text_of(shelf.look(now=True))}"
        for told in shelf.runs():
            yield f"run: {text_of({name: value for name, value in told.items() if name != 'stamp'})}"
        yield from (f"failure: {text_of(group)}" for group in shelf.failures())
        yield f"choices: {shelf.choices('trainers', shelf.runs())} {shelf.run('none')} {len(shelf.jobs('one'))}"
        wishes = (
            Filter(), Filter(tasks=["suite:third"]), Filter(tasks=["x"]), Filter(trainers=["Mine"]), Filter(models=["n"]),
            Filter(tags=["small"]),
            Filter(tags=["1"], text="ONE"), Filter(text="run"), Filter(text="zz"),
        )  # fmt: skip
        yield f"wanted: {[[run['name'] for run in shelf.runs(wish)] for wish in wishes]}"
        shelf.index.close()
    index = Index(runs, file=None)
    for number_ in range(202):
        index.keep(f"k{number_}", {"n": number_})
    yield f"kept: {index.kept('none')} {index.kept('k201')} {len(index.rows('select key from documents'))}"
    yield f"configs: {text_of(config_differences([open_run(layout.path), open_run(made(folder / 'three').path)]))}"


PARTS: Mapping[str, Callable[[Path], Iterator[Any]]] = {
    "jobs": _jobs, "trees": _trees, "small": _small, "published": _published, "listed": _listed,
}  # fmt: skip


def page_of(part: str, folder: Path) -> list[str]:
    """Return what one part says."""
    with patch.dict(os.environ, {"XDG_STATE_HOME": str(folder / "state")}):
        try:
            lines = [*PARTS[part](folder)]
        except UsageError as err:
            lines = [f"refused: {err} {err.hint}"]
    return [line.rstrip() for line in "\n".join(lines).replace(str(folder), "PLACE").split("\n")]


def pages() -> Said:
    """Return what is said now."""
    return said_of_each(PARTS, page_of)
