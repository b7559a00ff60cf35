"""Every figure of the page once more, with the bench's own library: by run directories made of the receipts, and not by `check.py`."""

from __future__ import annotations

import json
import math
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracebench_core.errors import TraceBenchError
from tracebench_core.specs import JobSpec
from tracebench_engine.api.judging.statistics import compare_ranks, compare_scores, holm, t_interval
from tracebench_engine.api.records import Run, load_run, verify_run
from tracebench_fields.releases import commitment_of
from tracebench_open.bench.alone import page as shown
from tracebench_open.bench.alone import receipts, sums
from tracebench_open.checking import began
from tracebench_open.counted import counted, without_test
from tracebench_open.registration import Registration, content_of, fingerprint, read, words_of

CLOSE = 1e-7
"""How far two ways to compute one figure may lie apart, as a share of its size; a page shows five digits at most."""
LEFT_OUT = (
    "events.jsonl", "_state.yaml", "state_history.jsonl", "config.snapshot.yaml", "env.json", "git.json", "files_index.json", "mirror.zip",
    ".csv", "summary.json",
)  # fmt: skip
"""What receipts leave out, or what is made of the rest."""
Scores = dict[str, dict[str, dict[int, float]]]


def verify(folder: Path, page: Path | None, *, head: str | None = None, root: str | None = None) -> Iterator[str]:
    """Yield whatever of the receipts, and of the page, is not so.

    Raises:
        UsageError: there is no registration, or it was changed.
    """
    registration = read(folder / "registration.json")
    bench = json.loads((folder / "bench.json").read_bytes())
    if registration.head != bench["registration"] or (head is not None and registration.head != head):
        yield f"the registration's head is {registration.head}, which is not the one that was published"
    release = bench["release"]
    if release is not None and commitment_of(release["secret"]) != release["commitment"]:
        yield "the fields' secret is not the one that was committed to"
    if root is not None and root != receipts.root_of(folder, bench):
        yield "the root of these receipts is not the one that was kept"
    left = {mark: (words_of(series, seed), _cell(series.job)) for mark, series, seed in registration.promised()}
    begun: set[str] = set()
    told: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for part in bench["parts"]:
            place = Path(scratch) / part["name"]
            wrong = list(_unpacked(folder / part["file"], place))
            try:
                run = None if wrong else load_run(place)
                if run is not None:
                    begun |= {_cell(job.model_dump(mode="json")) for job in run.planned}
                    wrong = [
                        *_speaks_against(run, part, registration, left, released=release is not None),
                        *_ledger(run),
                    ]
                if run is not None and not wrong:
                    told[part["name"]] = figures(run, bench["reference"], one_scale=part["one_scale"])
            except TraceBenchError as err:
                wrong.append(str(err))
            yield from (f"{part['file']}: {words}" for words in wrong)
    dropped = [words for words, cell in left.values() if cell in begun]
    yield from (f"promised, and in no receipt: {words}" for words in dropped)
    if len(left) - len(dropped) != bench["not_run"]:
        yield f"{len(left) - len(dropped)} promised jobs were not begun, and the page tells {bench['not_run']}"
    if page is not None and len(told) == len(bench["parts"]):
        yield from _page(folder, bench, page, told)


def _unpacked(path: Path, place: Path) -> Iterator[str]:
    """Lay a receipt out as the run directory that it is of."""
    try:
        with zipfile.ZipFile(path) as file:
            for entry in file.infolist():
                target = place / entry.filename
                if entry.is_dir() or not target.resolve().is_relative_to(place.resolve()) or target.exists():
                    yield f"`{entry.filename}` has no place in a receipt"
                    return
                if entry.file_size > receipts.LARGEST:
                    yield f"`{entry.filename}` is too large"
                    return
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read(entry))
    except (OSError, zipfile.BadZipFile, NotImplementedError) as err:
        yield f"it cannot be read: {err}"


def _speaks_against(
    run: Run, part: Mapping[str, Any], registration: Registration, left: dict[str, tuple[str, str]], *, released: bool
) -> Iterator[str]:
    """Yield what of a run is not sealed, not promised or not as the page says; takes what it ran from `left`."""
    path = run.layout.path
    found = verify_run(path, head=part["head"])
    if found.head != part["head"] or found.verdict not in {"match", "differs"}:
        yield f"its journal is not the one of this head: {found.words}"
        return
    for finding in found.findings:
        if (path / finding.path).exists() or not finding.path.endswith(LEFT_OUT):
            yield f"{finding.path}: {finding.message}"
    if run.run_id != part["run_id"]:
        yield f"it is the run {run.run_id}"
    for job in run.planned:
        if job.task_id.startswith("fields:") and not released:
            yield f"job {job.job_id} is of a field, and the fields' secret was not given away"
        yield from _job(run, job, part, left)
    if began(run) < registration.registered_at:
        yield "the run began before the registration was written"


def _job(run: Run, job: JobSpec, part: Mapping[str, Any], left: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what speaks against one job."""
    try:
        result = run.results[job.job_id]
    except TraceBenchError as err:
        yield str(err)
        return
    source = run.manifest["tasks"].get(job.task_id, {}).get("source", "")
    if result.status == "not_run":
        yield f"job {job.job_id} has not ended"
    elif left.pop(fingerprint(content_of(job, source=source), job.seed), None) is None:
        yield f"not promised, or run twice: {job.task_id} x {job.trainer_id}, seed {job.seed}"
    if {k: v for k, v in job.budget.model_dump().items() if v} != part["budget"]:
        yield f"job {job.job_id} has another budget than bench.json tells"


def _ledger(run: Run) -> Iterator[str]:
    """Yield the jobs whose calls and USD are not those of the ledger."""
    calls: dict[str, list[float]] = {}
    path = run.layout.path / "llm" / "ledger.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        record = json.loads(line)
        if record["kind"] == "llm_call" and record["phase"] == "training" and record["status"] == "ok":
            calls.setdefault(record["job_id"], []).append(record["usd"] or 0.0)
    for id_, result in run.results.items():
        own = calls.get(id_, [])
        if result.used.llm_calls != len(own) or not math.isclose(result.used.usd or 0.0, math.fsum(own), abs_tol=1e-9):
            yield f"job {id_} tells other calls or USD than the ledger"


def figures(run: Run, reference: str, *, one_scale: bool) -> dict[str, Any]:
    """Return what the page tells of one run, but for what jobs used."""
    scores: Scores = {}
    missing: set[str] = set()
    chosen = without_test(run)
    draws: dict[str, int] = {}
    for job in run.planned:
        result = run.results[job.job_id]
        draw = draws.setdefault(receipts.canonical([job.eval_kwargs, job.seed]).decode(), len(draws))
        score = counted(result, chosen)
        if result.status not in sums.COUNTED or score is None:
            missing.add(job.trainer_id)
        else:
            scores.setdefault(job.trainer_id, {}).setdefault(job.task_id, {})[draw] = score
    whole = {name: by for name, by in scores.items() if name not in missing}
    tasks = list(dict.fromkeys(job.task_id for job in run.planned))
    asked = Counter((job.trainer_id, job.task_id) for job in run.planned)
    some = {n: {t: s for t, s in by.items() if len(s) == asked[n, t]} for n, by in scores.items() if n in missing}
    others = [n for n in whole if n != reference and reference in whole]
    cells = {(n, t): compare_scores({t: whole[n][t]}, {t: whole[reference][t]}) for n in others for t in tasks}
    spans = dict.fromkeys(tasks, 1.0)
    all_ = {n: compare_scores(whole[n], whole[reference], spans=spans) for n in others} if one_scale else {}
    blocks = (
        [[whole[n][t][d] for n in whole] for t in tasks for d in whole[next(iter(whole))][t]]
        if one_scale
        else [[math.fsum(whole[n][t].values()) / len(whole[n][t]) for n in whole] for t in tasks]
    )
    ranks = compare_ranks(blocks) if whole else None
    return {
        "selected": chosen,
        "means": {n: {t: _interval(t_interval([[*by[t].values()]])) for t in tasks} for n, by in whole.items()},
        "apart": {
            n: {t: _interval(t_interval([[*s.values()]])) for t, s in by.items()} for n, by in some.items() if by
        },
        "against": _with_holm({key: found for key, found in cells.items() if found is not None}),
        "overall": _with_holm({n: found for n, found in all_.items() if found is not None}),
        "ranks": None
        if ranks is None
        else {
            "ranks": dict(zip(whole, ranks.ranks, strict=True)),
            "blocks": ranks.tasks,
            "p": ranks.probability,
            "critical": ranks.critical_difference,
        },
    }


def _cell(job: Mapping[str, Any]) -> str:
    return json.dumps([job["task_id"], {k: v for k, v in job["budget"].items() if v}], sort_keys=True)


def _interval(found: Any) -> dict[str, float | None]:
    return {"estimate": found.estimate, "low": found.low, "high": found.high}


def _with_holm(found: Mapping[Any, Any]) -> dict[Any, dict[str, float | None]]:
    adjusted = holm([_probability(one) for one in found.values()])
    return {
        key: {**_interval(one.interval), "p": _probability(one), "holm": p}
        for (key, one), p in zip(found.items(), adjusted, strict=True)
    }


def _probability(one: Any) -> float:
    return 1.0 if one.probability is None else float(one.probability)


def _page(folder: Path, bench: dict[str, Any], page: Path, told: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """Yield where a page differs from what is computed here, and where the two ways to compute differ."""
    _, read_, wrong = receipts.read(folder)
    yield from wrong
    if wrong:
        return
    found = {name: sums.figures(one, bench["reference"]) for name, one in read_.items()}
    for name, own in told.items():
        other = found[name]
        if own["selected"] != {*other["selected"]}:
            yield f"{name}: computed in two ways, other tasks have no test split"
        flat = {(n, t): cell for n, by in other["against"].items() for t, cell in by.items()}
        yield from _apart(f"{name}, means", own["means"], other["means"])
        yield from _apart(f"{name}, not ranked", own["apart"], other["apart"])
        yield from _apart(f"{name}, differences", own["against"], flat)
        yield from _apart(f"{name}, over all", own["overall"], other["overall"] or {})
        yield from _apart(f"{name}, ranks", own["ranks"], other["ranks"])
    yield from shown.differing(
        page.read_text(encoding="utf-8"), shown.page(bench, found, receipts.root_of(folder, bench))
    )
    yield from shown.beside(folder, bench, read_)


def _apart(where: str, one: Any, other: Any) -> Iterator[str]:
    """Yield where two figures, or two mappings of figures, lie apart."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if {*one} != {*other}:
            yield f"{where}: computed in two ways, they are not the same figures"
            return
        for key in one:
            yield from _apart(f"{where}, {key}", one[key], other[key])
    elif one is None or other is None:
        if one is not other:
            yield f"{where}: computed in two ways, it is {one} and {other}"
    elif not math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE):
        yield f"{where}: computed in two ways, it is {one} and {other}"
