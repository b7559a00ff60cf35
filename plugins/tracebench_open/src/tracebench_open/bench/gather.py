"""From finished runs to receipts: a ZIP for each run with what its figures follow from, and no path of the machine that made it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output
from tracebench_engine.api.records import Run, load_run, verify_run
from tracebench_fields.releases import commitment_of, secret_of
from tracebench_open.bench.alone import one_file
from tracebench_open.bench.alone import page as shown
from tracebench_open.bench.alone.receipts import NO_END, not_for_it, read, root_of
from tracebench_open.bench.alone.sums import figures
from tracebench_open.bench.alone.what_if import WHAT_IF, what_if
from tracebench_open.bench.plan import FIELD_MODEL, LADDER_MODEL, PRICE, REFERENCE, SIZES, who
from tracebench_open.registration import Registration

EPOCH = (1980, 1, 1, 0, 0, 0)
SHIPPED = "check.py"


def gather(
    parts: Sequence[dict[str, Any]],
    runs_dir: Path,
    registration: Registration,
    *,
    size: str,
    release: str,
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
    secret = secret_of(release)
    there, away = who(SIZES[size])
    bench = {
        "kind": "open-bench",
        "schema_version": 1,
        "size": size,
        "folder": to.name,
        "commit": commit,
        "release": {"name": release, "commitment": commitment_of(secret), "secret": secret},
        "registration": registration.head,
        "not_run": sum(len(s.seeds) for s in registration.jobs) - jobs,
        "reference": REFERENCE,
        "alpha": 0.05,
        "prices": PRICE,
        "parts": told,
        "machine": _machine(),
        "versions": sorted(versions),
        "seconds": round(seconds, 1),
        "words": {"head": head_words(size, there, away, registration), "tail": TAIL},
    }
    (to / "bench.json").write_text(json.dumps(bench, indent=1) + "\n", encoding="utf-8")
    (to / "registration.json").write_text(registration.model_dump_json() + "\n", encoding="utf-8")
    (to / SHIPPED).write_text(one_file(), encoding="utf-8")
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
    (folder / WHAT_IF).write_text(what_if(bench, receipts), encoding="utf-8")
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
    for job in run.planned:
        yield f"jobs/{job.job_id}/results.json", (path / f"jobs/{job.job_id}/results.json").read_bytes()
        score = run.results[job.job_id].score_test
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
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            file.writestr(entry, members[name], zipfile.ZIP_DEFLATED, 9)


def _wall(run: Run) -> float:
    from datetime import datetime  # noqa: PLC0415 - here alone

    times = [r.ended_at for r in run.results.values() if r.ended_at]
    began = datetime.fromisoformat(run.manifest["created_at"])
    return max((datetime.fromisoformat(t.replace("Z", "+00:00")) - began).total_seconds() for t in times)


def this_commit() -> str:
    """Return the commit of the checkout that the folder is in, where it is in one."""
    done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607 - wherever git is
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


def words_of(part: dict[str, Any]) -> list[str]:
    """Return what a part is, in sentences that follow from its config."""
    caps = ", ".join(f"{cap:g} {axis.replace('_', ' ')}" for axis, cap in part["budget"].items())
    config, tasks = part["config"], part["config"]["tasks"]
    drawn = [{k: v for k, v in t["eval_kwargs"].items() if k != "instance"} for t in tasks]
    options = sorted({json.dumps(one, sort_keys=True) for one in drawn})
    what = (
        f"Each of {len(tasks)} fields is drawn anew from the release's secret; scores are of 200 held-out examples without noise, 0 to 1"
        if part["one_scale"]
        else f"Tasks of one suite: {len(tasks)}, with {len(config['seeds'])} seeds each; scores are the tasks' own, more is better"
    )
    return [
        f"Each job may use {caps}. The model is `{config['llm']['model']}`. {what}.",
        "",
        f"Options: `{'`, `'.join(options)}`.",
    ]


HEAD = """\
# The open bench

Results that you can check and add to: optimizers under the same caps, with intervals, on fields that nobody could tune to and on real tasks.

**This is size `{size}`**, made by `just open-bench {size} RELEASE`. It is small: where it says *not resolved*, more draws may tell two apart, and
a larger size is the same command with another word. Nothing here says how good an optimizer is with a language model.

* **Model**: scripts of stated quality. `fields/{field}` improves a field's candidate in 35 of 100 answers, harms it in 45 and is of no use in 5.
  `ladders/{ladder}` moves one of six dials of a real program up by a rung in 20 and down in 45; the rungs are programs that the
  task's own calibrations order. They read the candidate and nothing else, so the tables compare what optimizers choose and keep, and say
  nothing of prompts. A script is told which job asks, since many optimizers' prompts do not say what the task is. To a request for feedback,
  observations or ideas, and not for a new value, it says nothing of use: what a language model's diagnosis would be worth to TextGrad,
  AdalFlow or MIPROv2 is not measured, only that it costs calls.
* **Price**: {prompt:g} and {completion:g} USD per million prompt and completion tokens, by which equal USD is counted.
* **Optimizers**: {there}, each at its defaults. Not installed where this was made, and so not measured: {away}. Coding agents are not measured.
* **Promised**: {jobs} jobs were registered before the first call. What of it was not run is told at the end; no part is shown that is not whole.
* **Reference**: differences are from `{reference}`, which makes independent proposals from the start. A row with a missing score is not ranked;
  it stands below the others, with a mean where it has all scores of a column. Some optimizers say of a task that it is not for them.
* **±** is half of a 95 % interval of Student, over draws of a family or over seeds of a task.
"""  # noqa: E501 - a line of the page is a paragraph


def head_words(size: str, there: Sequence[str], away: dict[str, str], registration: Registration) -> list[str]:
    """Return the beginning of the page."""
    return HEAD.format(
        size=size,
        field=FIELD_MODEL,
        ladder=LADDER_MODEL,
        **PRICE,
        there=len(there),
        away=", ".join(sorted(away)) or "none",
        jobs=sum(len(one.seeds) for one in registration.jobs),
        reference=REFERENCE,
    ).splitlines()


TAIL = """\
## What this does not show

* How optimizers do with a language model, and what their prompts are worth.
* How they do at other budgets, on other families and tasks, or with other settings than their defaults.
* That a registration was not thrown away and made anew: `promised.txt` beside the receipts holds every head that was on record, and what
  became of it. Where these stand in the history of the repository says when.
""".splitlines()
