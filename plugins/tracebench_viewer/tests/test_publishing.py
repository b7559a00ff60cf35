"""Published runs: files that hold what the runs say, at addresses that last, and nothing that acts."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from plugins.tracebench_viewer.tests.hostile import TEXTS, make_hostile
from plugins.tracebench_viewer.tests.visiting import command

from tracebench_core.errors import RunDirError, UsageError
from tracebench_engine.api import load_run
from tracebench_viewer.diffs import side_by_side
from tracebench_viewer.publishing.command import publish
from tracebench_viewer.publishing.packing import KINDS, Lines, packed

pytest.importorskip("altair", reason="altair draws the charts: pip install 'tracebench-engine[report]'")
pytest.importorskip(
    "vl_convert", reason="vl-convert-python holds the charts' script: pip install 'tracebench-engine[report]'"
)


def published(runs_dir: Path, *names: str) -> Path:
    site = runs_dir.parent / "site"
    publish([str(runs_dir / name) for name in names], out=site)
    return site


def data_of(page: Path) -> Any:
    found = re.search(r'id="packed">(.*?)</script>', page.read_text())
    assert found
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def test_every_job_has_a_page_that_says_what_its_result_says(runs_dir: Path) -> None:
    site = published(runs_dir, "first")
    run = load_run(runs_dir / "first")
    for job_id, result in run.results.items():
        page = site / "runs" / "first" / "jobs" / f"{job_id}.html"
        if result.status == "ok":
            data = data_of(page)
            scores = {row[0]: row[1] for row in data["candidates"]["rows"]}
            frame = run.candidates("columns")
            mine = [i for i, owner in enumerate(frame["job_id"]) if owner == job_id]
            assert scores == {frame["candidate"][i]: frame["score"][i] for i in mine}
            assert data["best"] == result.best_candidate
            assert len(data["tables"]["calls"]["rows"]) == result.used.llm_calls
        elif result.error is not None:
            shown = unescape(page.read_text())
            assert shown.index(result.error.message[:60]) < shown.index("<dl")


def test_links_lead_to_files_that_are_there_and_nothing_is_asked_of_anybody(runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "a run #2?")
    site = published(runs_dir, "first", "a run #2?")
    pages = [*site.rglob("*.html")]
    assert len(pages) == 3 + 2 + 2 * 4
    from urllib.parse import unquote, urlsplit

    for page in pages:
        text = page.read_text()
        assert "default-src 'none'" in unescape(text)
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            parts = urlsplit(unescape(link))
            assert parts.scheme in {"", "data"}, link
            if parts.scheme == "" and parts.path:
                assert (page.parent / unquote(parts.path)).is_file(), (page, link)


def test_equal_runs_give_equal_files(runs_dir: Path) -> None:
    site = published(runs_dir, "first")
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    published(runs_dir, "first")
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before


def test_a_site_loses_no_run_and_no_other_folder_is_written_into(runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    published(runs_dir, "first", "second")
    with pytest.raises(RunDirError, match="links to it would die") as caught:
        published(runs_dir, "first")
    assert "second" in str(caught.value.hint)
    (runs_dir.parent / "mine").mkdir()
    (runs_dir.parent / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(RunDirError, match="no site"):
        publish([str(runs_dir / "first")], out=runs_dir.parent / "mine")
    assert [path.name for path in (runs_dir.parent / "mine").iterdir()] == ["thesis.tex"]


def test_two_runs_of_one_name_are_refused(runs_dir: Path) -> None:
    shutil.copytree(runs_dir, runs_dir.parent / "others")
    with pytest.raises(UsageError, match="same address"):
        publish([str(runs_dir / "first"), str(runs_dir.parent / "others" / "first")], out=runs_dir.parent / "site")


def test_the_command_tells_where_and_how_much(runs_dir: Path) -> None:
    site = runs_dir.parent / "site"
    told = json.loads(command("publish", str(runs_dir / "first"), "-o", str(site), "--json"))
    assert (told["runs"], told["jobs"]) == (["first"], 4)
    assert told["bytes"] == sum(path.stat().st_size for path in site.rglob("*") if path.is_file() and path.name != "x")


def test_hostile_texts_are_text_in_the_markup(runs_dir: Path) -> None:
    jobs = make_hostile(runs_dir)
    site = published(runs_dir, "hostile")
    planted = re.compile(r"<(?:img[^>]*onerror|b id=.hacked|iframe|svg onload|script>window)", re.IGNORECASE)
    driving = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not planted.search(text), page
        assert not driving.search(text), page
        assert page.stat().st_size < 400_000
    texts = data_of(site / "runs" / "hostile" / "jobs" / f"{jobs['a script']}.html")
    shown = "\n".join(texts["lines"][i] for _, lines in texts["texts"]["c1"] for i in lines)
    assert TEXTS["a script"] in shown


def test_lines_are_kept_once_and_diffs_are_as_the_viewer_draws_them() -> None:
    before, after = (
        "\n".join(f"line {i}" for i in range(50)),
        "\n".join(f"line {i}" if i != 9 else "line nine" for i in range(50)),
    )
    lines = Lines()
    one, other = lines.of(before), lines.of(after)
    assert "\n".join(lines.kept[i] for i in one) == before
    assert "\n".join(lines.kept[i] for i in other) == after
    rows = side_by_side(before, after)
    drawn = lines.diff(rows)
    assert len(lines.kept) == 51 + 2  # the words `… equal lines`, twice
    for row, (kind, left_number, left, right_number, right, *spans) in zip(rows, drawn, strict=True):
        assert (KINDS[kind], left_number, right_number) == (row.kind, row.left_number, row.right_number)
        assert row.left == ("" if left < 0 else lines.kept[left])
        assert row.right == ("" if right < 0 else lines.kept[right])
        assert tuple(spans or ((), ())) == (row.left_words, row.right_words)


def test_what_a_browser_cannot_read_is_nothing() -> None:
    told = json.loads(
        gzip.decompress(base64.b64decode(packed({"a": [float("nan"), float("inf"), 1.5], "b": "half \ud800 a pair"})))
    )
    assert told == {"a": [None, None, 1.5], "b": "half ? a pair"}
