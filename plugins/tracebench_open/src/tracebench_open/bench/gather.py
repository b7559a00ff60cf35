"""From finished runs to receipts: a ZIP for each run with what its figures follow from, and no path of the machine that made it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.console.writing import put
from tracebench_engine.api.records import Run, load_run, verify_run
from tracebench_fields.releases import commitment_of, secret_of
from tracebench_open.bench.alone import one_file
from tracebench_open.bench.alone import page as shown
from tracebench_open.bench.alone.receipts import NO_END, not_for_it, read, root_of
from tracebench_open.bench.alone.sums import figures
from tracebench_open.bench.alone.what_if import WHAT_IF, what_if
from tracebench_open.bench.plan import PRICE, REFERENCE, SIZES
from tracebench_open.bench.words import TAIL, head_words, words_of
from tracebench_open.counted import counted, without_test
from tracebench_open.registration import Registration

EPOCH = (1980, 1, 1, 0, 0, 0)
SHIPPED = "check.py"


def gather(
    parts: Sequence[dict[str, Any]],
    runs_dir: Path,
    registration: Registration,
    *,
    size: str,
    release: str | None,
    to: Path,
    leave: Sequence[str] = (),
    commit: str = "unknown",
) -> str:
    """Write the receipts of finished runs and the file that checks them into a folder; return the page, which says what was left.

    Raises:
        UsageError: a run is not there, not finished, or not what its journal vouches for.
    """
    to.mkdir(parents=True, exist_ok=True)
    told, seconds, jobs, versions = [], 0.0, 0, set()
    for part in (one for one in parts if one["name"] not in leave):
        run = _sound(runs_dir / part["config"]["run_id"], part["name"])
        _write_zip(to / f"{part['name']}.zip", dict(_members(run)))
        seconds += _wall(run)
        jobs += len(run.planned)
        versions |= {*run.manifest["versions"]["plugins"]}
        told.append({
            **{key: part[key] for key in ("name", "title", "one_scale", "budget")},
            "words": words_of(part),
            "file": f"{part['name']}.zip",
            "run_id": run.run_id,
            "head": verify_run(run.layout.path).head,
        })  # fmt: skip
    tasks = [task for part in parts for task in part["config"]["tasks"]]
    told_of = None
    if release is not None and SIZES[size].families:
        secret = secret_of(release)
        told_of = {"name": release, "commitment": commitment_of(secret), "secret": secret}
    bench = {
        "kind": "open-bench",
        "schema_version": 1,
        "size": size,
        "folder": to.name,
        "commit": commit,
        "release": told_of,
        "registration": registration.head,
        "not_run": sum(len(s.seeds) for s in registration.jobs) - jobs,
        "reference": REFERENCE,
        "alpha": 0.05,
        "prices": PRICE,
        "parts": told,
        "machine": _machine(),
        "versions": sorted(versions),
        "seconds": round(seconds, 1),
        "words": {"head": head_words(size, registration, tasks), "tail": TAIL},
    }
    put(to / "bench.json", f"{json.dumps(bench, indent=1)}\n".encode())
    put(to / "registration.json", f"{registration.model_dump_json()}\n".encode())
    put(to / SHIPPED, one_file().encode())
    return page_of(to)


def page_of(folder: Path) -> str:
    """Return the page that receipts give, and write the one with sliders beside them.

    Raises:
        UsageError: they are not whole.
    """
    bench, receipts, wrong = read(folder)
    if wrong:
        raise UsageError(f"These receipts are not whole: {wrong[0]}")
    found = {name: figures(receipt, bench["reference"]) for name, receipt in receipts.items()}
    put(folder / WHAT_IF, what_if(bench, receipts).encode())
    return shown.page(bench, found, root_of(folder, bench))


def _sound(folder: Path, name: str) -> Run:
    if not folder.is_dir():
        raise UsageError(f"The run of `{name}` is not there.", hint=output.command("open-bench", "run"))
    found = verify_run(folder)
    if found.verdict != "whole":
        raise UsageError(f"The run of `{name}` is not whole: {found.words}.", hint=output.command("fsck", folder))
    run = load_run(folder)
    ends = [r for r in run.results.values() if r.status in NO_END]
    if left := [r for r in ends if not not_for_it(r.model_dump(mode="json"))]:
        why = f"the first is `{left[0].status}`, {left[0].stop_reason or 'without a reason'}"
        raise UsageError(f"{len(left)} jobs of `{name}` have not ended; {why}.", hint=output.command("resume", folder))
    return run


def _members(run: Run) -> Iterator[tuple[str, bytes]]:
    """Yield what a receipt holds: the journal, the manifest, the ledger, every result, and the events of the best job of each task."""
    path = run.layout.path
    for name in ("journal-main.jsonl", "meta/manifest.json", "llm/ledger.jsonl"):
        if (path / name).exists():
            yield name, (path / name).read_bytes()
    best: dict[str, tuple[float, str]] = {}
    chosen = without_test(run)
    for job in run.planned:
        yield f"jobs/{job.job_id}/results.json", (path / f"jobs/{job.job_id}/results.json").read_bytes()
        score = counted(run.results[job.job_id], chosen)
        if score is not None and (job.task_id not in best or score > best[job.task_id][0]):
            best[job.task_id] = (score, job.job_id)
    for _, id_ in best.values():
        yield f"jobs/{id_}/events.jsonl", (path / f"jobs/{id_}/events.jsonl").read_bytes()


def _write_zip(path: Path, members: dict[str, bytes]) -> None:
    here = [str(Path.home()), str(Path.cwd()), platform.node()]
    for name, data in members.items():
        if any(len(word) > 1 and word.encode() in data for word in here):
            raise UsageError(
                f"`{name}` of `{path.stem}` names a folder or the name of this machine, which a receipt must not."
            )
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            file.writestr(entry, members[name], zipfile.ZIP_DEFLATED, 9)
    put(path, content.getvalue())


def _wall(run: Run) -> float:
    from datetime import datetime  # noqa: PLC0415 - here alone

    times = [r.ended_at for r in run.results.values() if r.ended_at]
    began = datetime.fromisoformat(run.manifest["created_at"])
    return max((datetime.fromisoformat(t.replace("Z", "+00:00")) - began).total_seconds() for t in times)


def this_commit() -> str:
    """Return the commit of the checkout that the folder is in, where it is in one."""
    try:
        done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607 - wherever git is
    except OSError:  # there is no git
        return "no checkout"
    return done.stdout.strip() or "no checkout"


def _machine() -> str:
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} processors ({_processor()}), {system}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), platform.processor())
