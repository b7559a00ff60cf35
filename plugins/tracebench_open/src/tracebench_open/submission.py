"""A submission: one run as a ZIP that anybody can check, and the check, which accepts it or says why not."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from tracebench_core.errors import TraceBenchError, UsageError, quoted
from tracebench_core.specs import TaskSpec
from tracebench_engine import api
from tracebench_engine.api.console.writing import put_new
from tracebench_engine.api.records import Run, findings_told, load_run, verify_run
from tracebench_open import laws
from tracebench_open.checking import began
from tracebench_open.counted import counted, without_test
from tracebench_open.registration import content_of, fingerprint, read

KIND = "submission"
LINK = 0o120000
ABOUT = "submission.json"
LEFT_OUT = (
    "salts.json",
    "mirror.zip",
    "files_index.json",
    ".log",
    "calls.jsonl",
    ".csv",
    "summary.json",
    "evaluations.count",
    ".lock",
)
"""What stays with who ran it, secrets of drawn instances first, or is made of the rest."""
LARGEST, MOST = 1 << 29, 200_000
"""Bytes and files of a submission."""


@dataclass(slots=True)
class Verdict:
    """What the check found."""

    run_id: str = ""
    head: str = ""
    jobs: int = 0
    refused: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By law, what breaks it."""
    told: list[str] = field(default_factory=list)
    """What was not asked, and why; it refuses nothing."""


def bundle(run_dir: Path, to: Path, *, registration: Path | None = None) -> int:
    """Write a run as a submission; return how many files it holds.

    Raises:
        UsageError: the run is damaged or not finished, or the file is there.
    """
    found = verify_run(run_dir)
    if found.verdict != "whole":
        raise UsageError(f"This run is not whole: {found.words}.", hint=f"trace-bench fsck {quoted(run_dir)}")
    run = load_run(run_dir)
    if open_ := [j.job_id for j in run.planned if run.results[j.job_id].status == "not_run"]:
        raise UsageError(f"{len(open_)} of its jobs have not ended.", hint=f"trace-bench resume {quoted(run_dir)}")
    about: dict[str, Any] = {"kind": KIND, "schema_version": 1, "run_id": run.run_id, "head": found.head}
    if registration is not None:
        about["registration"] = json.loads(read(registration).model_dump_json())
    return _packed(to, run_dir, json.dumps(about, indent=1) + "\n")


def _packed(to: Path, run_dir: Path, about: str) -> int:
    """Write the files of a run, or nothing.

    Raises:
        UsageError: it cannot be written, or something is there.
    """
    files = [
        p for p in sorted(run_dir.rglob("*")) if p.is_file() and not p.is_symlink() and not p.name.endswith(LEFT_OUT)
    ]
    content = BytesIO()
    try:
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
            file.writestr(ABOUT, about)
            for path in files:
                if "llm/blobs" not in path.as_posix():
                    file.write(path, path.relative_to(run_dir).as_posix())
        put_new(to, content.getvalue())
    except FileExistsError as err:
        raise UsageError(f"`{to}` is there already.", hint="--to ANOTHER-FILE") from err
    except OSError as err:
        raise UsageError(f"`{to}` cannot be written: {err.strerror or err}.", hint="--to FILE") from err
    return len(files) + 1


def check(path: Path, *, reference: Path | None = None, root: Path | None = None) -> Verdict:
    """Return whether a submission keeps every law. Nothing of it is run, and nothing of it leaves a temporary folder.

    Raises:
        UsageError: it cannot be read as a submission.
    """
    verdict = Verdict()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "run"
        about = _unpack(path, place)
        verdict.run_id, verdict.head = str(about.get("run_id")), str(about.get("head"))
        try:
            _receipts(place, about, verdict)
            if not verdict.refused:
                _jobs(load_run(place), about, verdict, reference=reference, root=root)
        except (TraceBenchError, OSError, ValueError, KeyError, TypeError) as err:
            verdict.refused["receipts"].append(f"it cannot be read as a run: {err}")
    return verdict


def check_all(folder: Path, *, reference: Path | None = None, root: Path | None = None) -> dict[str, Verdict]:
    """Return by its name what became of every ZIP of a folder; what is no submission is refused, as is a run that was accepted already.

    Raises:
        UsageError: the folder holds no ZIP.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix == ".zip" and not path.name.startswith("."))
    if not paths:
        raise UsageError(f"`{folder}` holds no bundle.", hint="trace-bench submit write RUN --to FOLDER/NAME.zip")
    known: dict[str, str] = {}
    found: dict[str, Verdict] = {}
    for path in paths:
        try:
            verdict = check(path, reference=reference, root=root)
        except UsageError as err:
            verdict = Verdict()
            verdict.refused["receipts"].append(str(err))
        if not verdict.refused and known.setdefault(verdict.head, path.name) != path.name:
            verdict.refused["receipts"].append(f"`{known[verdict.head]}` holds the same run")
        found[path.name] = verdict
    return found


def _unpack(path: Path, place: Path) -> dict[str, Any]:
    hint = "trace-bench submit write RUN --to FILE"
    if not path.is_file():
        raise UsageError(f"`{path}` is no file.", hint=hint)
    try:
        with zipfile.ZipFile(path) as file:
            entries = file.infolist()
            if len(entries) > MOST or sum(e.file_size for e in entries) > LARGEST:
                raise UsageError(f"`{path}` is too large to be a submission.", hint=hint)
            for entry in entries:
                target = place / entry.filename
                is_link = (entry.external_attr >> 16) & 0o170000 == LINK
                if is_link or entry.is_dir() or target.exists() or not target.resolve().is_relative_to(place.resolve()):
                    raise UsageError(f"`{entry.filename[:200]}` has no place in a submission.", hint=hint)
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(entry) as source:
                    data = source.read(entry.file_size + 1)
                if len(data) != entry.file_size:
                    raise UsageError(f"`{entry.filename[:200]}` is larger than it says.", hint=hint)
                target.write_bytes(data)
        about: dict[str, Any] = json.loads((place / ABOUT).read_bytes())
        (place / ABOUT).unlink()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError) as err:
        raise UsageError(f"`{path}` cannot be read as a submission: {err}.", hint=hint) from err
    if not isinstance(about, dict) or about.get("kind") != KIND:
        raise UsageError(f"`{path}` is no submission.", hint=hint)
    return about


def _receipts(place: Path, about: Mapping[str, Any], verdict: Verdict) -> None:
    """See that the journal is whole, ends with the head that was told, and vouches for every file."""
    found = verify_run(place, head=str(about.get("head")))
    if found.verdict not in {"match", "differs"} or found.head != about.get("head"):
        verdict.refused["receipts"].append(f"the journal is not the one of this head: {found.words}")
    for finding in found.findings:
        if (place / finding.path).exists() or not finding.path.endswith(LEFT_OUT):
            verdict.refused["receipts"] += findings_told([finding])


def _jobs(run: Run, about: Mapping[str, Any], verdict: Verdict, *, reference: Path | None, root: Path | None) -> None:
    host = api.open_host(root=root)
    scores: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    budgets: dict[str, set[str]] = defaultdict(set)
    chosen = without_test(run)
    for job in run.planned:
        result, who = run.results[job.job_id], f"{job.task_id} x {job.called}, seed {job.seed}"
        verdict.jobs += 1
        try:
            spec = host.task(job.task_id)
        except TraceBenchError:
            verdict.refused["tasks"].append(f"`{job.task_id}` is not installed where this is checked")
            continue
        if result.status not in {"ok", "timeout", "failed"}:
            verdict.refused["receipts"].append(f"{who} stands as `{result.status}`")
            continue
        usual = _is_usual(spec, job.eval_kwargs)
        if not usual and result.calibration != "here":
            told = f"{job.task_id}: calibrations are of a task's own options, and this one has others, so that none was asked for"
            verdict.told += [told] if told not in verdict.told else []
        bounds = spec.score_bounds.model_dump() if spec.score_bounds else {}
        broken = {
            "budget": laws.budget(job, result),
            "winner": laws.winner(run.events(job.job_id)) if result.status != "failed" else (),
            "protection": laws.protection(job, result, runs_code=bool(spec.sandbox)),
            "calibration": laws.calibration(result, has_cases=result.calibration is not None and usual),
            "possible": laws.possible(result, bounds),
        }
        for law, words in broken.items():
            verdict.refused[law] += [f"{who}: {w}" for w in words]
        budgets[job.task_id].add(job.budget.model_dump_json())
        if (score := counted(result, chosen)) is not None:
            scores[(job.trainer_id, *_cell(job.task_id, job.eval_kwargs, job.budget.model_dump()))].append(score)
    verdict.refused["budget"] += [
        f"the jobs of {task} have different budgets" for task, found in budgets.items() if len(found) > 1
    ]
    _promise(run, about, verdict)
    _alarm(scores, reference, verdict)
    for law in [law for law, words in verdict.refused.items() if not words]:
        del verdict.refused[law]


def _is_usual(spec: TaskSpec, options: Mapping[str, Any]) -> bool:
    """Tell whether a job's options are the task's own, at which `trace-bench calibrate` measures its cases."""
    if spec.options is None:
        return True
    own = api.load_ref(spec.options, owner=spec.name)().model_dump(mode="json")
    return all(own.get(name) == value for name, value in options.items())


def _promise(run: Run, about: Mapping[str, Any], verdict: Verdict) -> None:
    if "registration" not in about:
        verdict.told.append("nothing was promised before the run: it cannot be seen whether a seed was dropped")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(about["registration"], file)
        file.flush()
        promised = read(Path(file.name))
    marks = {mark for mark, _, _ in promised.promised()}
    tasks = run.manifest["tasks"]
    own = {fingerprint(content_of(j, source=tasks.get(j.task_id, {}).get("source", "")), j.seed) for j in run.planned}
    if marks != own:
        verdict.refused["promise"].append(
            f"{len(marks - own)} promised jobs are missing, {len(own - marks)} were not promised"
        )
    if began(run) < promised.registered_at:
        verdict.refused["promise"].append("the run began before the registration was written")


def _cell(task: str, options: Mapping[str, Any], caps: Mapping[str, Any]) -> tuple[str, str]:
    """Return what scores have in common that may be laid side by side: all options but which draw it is, and the caps."""
    alike = {k: v for k, v in options.items() if k not in {"instance", "release"}}
    budget = {k: v for k, v in caps.items() if v not in (None, False)}
    return task, json.dumps([alike, budget], sort_keys=True)


def _alarm(scores: Mapping[tuple[str, str, str], list[float]], reference: Path | None, verdict: Verdict) -> None:
    known = dict(_references(reference)) if reference is not None else {}
    for (trainer, task, cell), own in scores.items():
        others = known.get((task, cell))
        if others is None:
            verdict.told.append(
                f"{task} x {trainer}: no reference under these options and caps, so that the alarm could not be asked"
            )
        elif words := laws.too_good(own, others):
            verdict.refused["too good"].append(f"{task} x {trainer}: {words}")


def _references(folder: Path) -> Iterator[tuple[tuple[str, str], dict[str, list[float]]]]:
    """Yield by task, options and caps the scores of every optimizer of an open bench."""
    from tracebench_open.bench.alone import receipts  # noqa: PLC0415 - only where a reference is given

    _, found, wrong = receipts.read(folder)
    if wrong:
        raise UsageError(f"The reference is not whole: {wrong[0]}", hint="--reference FOLDER")
    cells: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for receipt in found.values():
        jobs = receipt.manifest["jobs"]
        chosen = receipts.selected(jobs, receipt.results)
        for job in jobs:
            score = receipts.counts(receipt.results[job["job_id"]], chosen=job["task_id"] in chosen)
            if score is not None:
                cells[_cell(job["task_id"], job["eval_kwargs"], job["budget"])][job["trainer_id"]].append(score)
    yield from cells.items()
