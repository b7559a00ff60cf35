"""Pages of the open bench with their receipts: run, checked by both who check, and forged so that all of it agrees."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import warm

from tracebench_open.bench import recompute
from tracebench_open.bench.alone import page as shown
from tracebench_open.bench.alone import receipts, sums
from tracebench_open.bench.alone.what_if import what_if


def trace_bench(*argv: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return warm.trace_bench(*map(str, argv), folder=folder, environ=os.environ, timeout=600)


def alone(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the shipped file as anybody would who has Python and nothing else."""
    argv = [sys.executable, "-I", "-S", "page/check.py", "page", "--page", "page.md", *more]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, env={})


def ours(folder: Path, **kept: str) -> list[str]:
    return [*recompute.verify(folder / "page", folder / "page.md", **kept)]


def copied(made: Path, tmp_path: Path) -> Path:
    for name in ("page.md", "head"):
        shutil.copy(made / name, tmp_path)
    shutil.copytree(made / "page", tmp_path / "page")
    return tmp_path


def edited(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Change the files of a receipt."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)


def rechained(members: dict[str, bytes], records: list[dict[str, Any]]) -> str:
    """Write a journal anew that is one sound chain, as who knows the form can without the key; return its head."""
    before, lines = "0" * 64, []
    for number, record in enumerate(records):
        plain = {k: v for k, v in record.items() if k not in {"n", "prev", "mac", "sum"}}
        text = json.dumps({"n": number, **plain, "prev": before, "mac": "0" * 32}, separators=(",", ":"))
        before = hashlib.sha256(text.encode()).hexdigest()
        lines.append(f'{text[:-1]},"sum":"{before[:16]}"}}\n')
    members["journal-main.jsonl"] = "".join(lines).encode()
    return before


def resealed(folder: Path, part: int, change: Callable[[dict[str, bytes], list[dict[str, Any]]], None]) -> None:
    """Forge a receipt, its journal, `bench.json` and the page, so that all agree with one another again."""
    bench = json.loads((folder / "page/bench.json").read_text())
    told = bench["parts"][part]

    def forge(members: dict[str, bytes]) -> None:
        records = [json.loads(line) for line in members["journal-main.jsonl"].splitlines()]
        change(members, records)
        told["head"] = rechained(members, records)

    edited(folder / "page" / told["file"], forge)
    (folder / "page/bench.json").write_text(json.dumps(bench))
    repaged(folder)


def repaged(folder: Path) -> None:
    """Write the pages that the receipts give, wherever they can be read."""
    bench, found, wrong = receipts.read(folder / "page")
    if not wrong:
        figures = {name: sums.figures(one, bench["reference"]) for name, one in found.items()}
        (folder / "page.md").write_text(shown.page(bench, figures, receipts.root_of(folder / "page", bench)))
        (folder / "page/what-if.html").write_text(what_if(bench, found))


def without_seed_2(members: dict[str, bytes], records: list[dict[str, Any]]) -> None:
    """Drop a seed of every trainer from manifest, ledger, results and journal."""
    manifest = json.loads(members["meta/manifest.json"])
    gone = {job["job_id"] for job in manifest["jobs"] if job["seed"] == 2}
    assert gone
    manifest["jobs"] = [job for job in manifest["jobs"] if job["job_id"] not in gone]
    lines = ",\n".join(f"    {json.dumps(job, separators=(',', ':'))}" for job in manifest.pop("jobs"))
    head = json.dumps(manifest, indent=2)[:-2]
    members["meta/manifest.json"] = f'{head},\n  "jobs": [\n{lines}\n  ]\n}}\n'.encode()
    for id_ in gone:
        members.pop(f"jobs/{id_}/results.json")
        members.pop(f"jobs/{id_}/events.jsonl", None)
    ledger = [
        x for x in members.get("llm/ledger.jsonl", b"").splitlines(keepends=True) if json.loads(x)["job_id"] not in gone
    ]
    members["llm/ledger.jsonl"] = b"".join(ledger)
    records[:] = [r for r in records if r.get("job") not in gone]
    reseal(members, records)


def reseal(members: dict[str, bytes], records: list[dict[str, Any]]) -> None:
    """Seal manifest and ledger as they are now."""
    for name in ("meta/manifest.json", "llm/ledger.jsonl"):
        last = [r for r in records if name in r.get("files", {})][-1:]
        for record in records:
            if name in record.get("files", {}):
                record["files"].pop(name)
        for record in last:
            record["files"][name] = [len(members[name]), hashlib.sha256(members[name]).hexdigest()]
