"""Receipts as the standard library reads them: the registration's head, the journal's chain, and what the chain seals.

This module, `sums`, `what_if` and `page` make one file, `check.py`, which runs wherever Python does; they import nothing else.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

Data = dict[str, Any]
NOT_PROMISED = (
    "job_id",
    "salt",
    "label",
    "logger",
    "logger_kwargs",
    "plugin_version",
    "llm_variant",
    "timeout",
    "seed",
)
SKIPPED = "skipped"
NO_END = ("not_run", SKIPPED, "unscored")
SUM = 26
"""Bytes of the sum that ends a line of a journal."""
LARGEST = 1 << 28
"""Bytes of a receipt, unpacked."""
CENT = 1e-9
"""USD that rounding may take."""


def not_for_it(result: Mapping[str, Any]) -> bool:
    """Tell whether a trainer said that the task is not for it, before it asked or measured anything."""
    unused = not any(result["used"].get(axis) for axis in ("llm_calls", "evaluations", "tokens", "usd"))
    return result["status"] == SKIPPED and str(result["stop_reason"]).startswith("not applicable: ") and unused


def selected(jobs: Iterable[Data], results: Mapping[str, Data]) -> set[str]:
    """Return the tasks of a run that have no test split: their scores are those on what winners were chosen on.

    A task has one where any of its jobs tells of examples of test, also one that has no score there; so does a task of which no job tells
    what it was measured on, as none did before this was told.
    """
    told: dict[str, set[str]] = {}
    for job in jobs:
        told.setdefault(job["task_id"], set()).update(results[job["job_id"]].get("data") or ())
    return {task for task, splits in told.items() if splits and "test" not in splits}


def counts(result: Data, *, chosen: bool, initial: bool = False) -> float | None:
    """Return the score of a job, or of the initial candidate, that a page tells: on test, or if `chosen` on what winners were chosen on."""
    names = ("score_val_best", "score_val_initial") if chosen else ("score_test", "score_test_initial")
    score: float | None = result[names[initial]]
    return score


class WrongError(Exception):
    """Something that is not as it must be, in words."""


def canonical(value: Any) -> bytes:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(data: bytes) -> str:
    """Return the SHA-256, in hex."""
    return hashlib.sha256(data).hexdigest()


def merkle(texts: Sequence[bytes]) -> str:
    """Return the Merkle tree hash of RFC 9162, 2.1.1, by its own recursive words."""

    def of(part: Sequence[bytes]) -> bytes:
        if len(part) == 1:
            return hashlib.sha256(b"\x00" + part[0]).digest()
        split = 1 << ((len(part) - 1).bit_length() - 1)
        return hashlib.sha256(b"\x01" + of(part[:split]) + of(part[split:])).digest()

    return of(texts).hex() if texts else hashlib.sha256().hexdigest()


def load(data: bytes, what: str) -> Any:
    """Read JSON."""
    try:
        return json.loads(data)
    except ValueError as err:
        raise WrongError(f"{what} is no JSON: {err}") from err


def registered(data: bytes) -> tuple[Data, dict[str, str]]:
    """Return a registration, and by fingerprint which cell each of its jobs is of; its head is that of what it holds."""
    told = load(data, "registration.json")
    series = [(one["job"], seed) for one in told["jobs"] for seed in one["seeds"]]
    at = datetime.fromisoformat(told["registered_at"].replace("Z", "+00:00"))
    leaves: list[Any] = [["nonce", told["nonce"]], ["registered_at", at.isoformat()], ["plugins", told["plugins"]]]
    leaves += [["config", one["name"], one["sha256"]] for one in told["configs"]]
    leaves += [["job", job, seed] for job, seed in series]
    if merkle([canonical(leaf) for leaf in leaves]) != told["head"]:
        raise WrongError("registration.json was changed: its jobs do not have the head that it tells")
    return told, {digest(canonical([job, seed])): cell_of(job) for job, seed in series}


def chained(data: bytes, head: str) -> list[Data]:
    """Return the records of a journal that is one unbroken chain and ends with the line of this head."""
    before, found = "0" * 64, []
    for number, line in enumerate(data.splitlines()):
        plain, end = line[:-SUM], line[-SUM:]
        own = digest(plain + b"}")
        record = load(line, f"line {number} of the journal")
        if end != b',"sum":"' + own[:16].encode() + b'"}' or record.get("prev") != before or record.get("n") != number:
            raise WrongError(f"line {number} of the journal is not what follows the line before it")
        before = own
        found.append(record)
    if before != head:
        raise WrongError(f"the journal ends with {before[:16]}, and bench.json tells {head[:16]}")
    return found


class Receipt:
    """One run as its ZIP tells it, once all of it is seen to be what the journal sealed."""

    def __init__(self, part: Mapping[str, Any], path: Path) -> None:
        self.part = part
        try:
            with zipfile.ZipFile(path) as file:
                if sum(one.file_size for one in file.infolist()) > LARGEST:
                    raise WrongError("it is too large to be a receipt")
                if len({*file.namelist()}) < len(file.namelist()):
                    raise WrongError("it holds a file twice")
                self.files = {name: file.read(name) for name in file.namelist()}
        except (OSError, zipfile.BadZipFile) as err:
            raise WrongError(f"it cannot be read: {err}") from err
        self.records = chained(self._file("journal-main.jsonl"), part["head"])
        self._sealed = self._seals()
        self.manifest = load(self._meta("meta/manifest.json"), "the manifest")
        self.ends = self._ended()
        if any(_caps(job) != dict(part["budget"]) for job in self.manifest["jobs"]):
            raise WrongError("its jobs do not have the budget that bench.json tells")
        self.results = {job["job_id"]: self._result(job) for job in self.manifest["jobs"]}
        self._refuse_picked()
        self.spent = self._spent()

    def _file(self, name: str) -> bytes:
        if name not in self.files:
            raise WrongError(f"`{name}` is missing")
        return self.files[name]

    def _seals(self) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        for record in self.records:
            if record["kind"] in ("opened", "sealed"):
                found |= {name: (seal[0], seal[1]) for name, seal in record["files"].items()}
            if record["kind"] == "accepted":
                raise WrongError("damage was accepted in this run")
        return found

    def _meta(self, name: str) -> bytes:
        size, seal = self._sealed.get(name, (0, ""))
        data = self._file(name)
        if len(data) != size or digest(data) != seal:
            raise WrongError(f"`{name}` is not what the journal sealed")
        return data

    def _ended(self) -> dict[str, Data]:
        found: dict[str, Data] = {}
        for record in self.records:
            if record["kind"] == "job_finished" and (record["status"] not in NO_END or record["status"] == SKIPPED):
                if found.get(record["job"], {}).get("status", SKIPPED) != SKIPPED:
                    raise WrongError(f"job {record['job']} ended twice: somebody could choose")
                found[record["job"]] = record
        return found

    def _result(self, job: Data) -> Data:
        id_, end = job["job_id"], self.ends.get(job["job_id"])
        if end is None:
            raise WrongError(f"job {id_} ({job['task_id']} x {job['trainer_id']}, seed {job['seed']}) has not ended")
        data = self._file(f"jobs/{id_}/results.json")
        if digest(data) != end["digest"]:
            raise WrongError(f"`jobs/{id_}/results.json` is not what the journal sealed")
        events = self.files.get(f"jobs/{id_}/events.jsonl")
        if events is not None and [len(events), digest(events)] != end["events"]:
            raise WrongError(f"`jobs/{id_}/events.jsonl` is not what the journal sealed")
        found: Data = load(data, f"the result of {id_}")
        same = ("job_id", "task_id", "trainer_id", "seed")
        if [found[name] for name in same] != [job[name] for name in same]:
            raise WrongError(f"`jobs/{id_}/results.json` is the result of another job")
        if found["status"] in NO_END and not not_for_it(found):
            raise WrongError(f"job {id_} ({job['task_id']} x {job['trainer_id']}, seed {job['seed']}) was skipped")
        return found

    def _refuse_picked(self) -> None:
        """A trainer for which a task is not says so of all its jobs on that task: else somebody could choose."""
        said: dict[tuple[str, str], set[bool]] = {}
        for job in self.manifest["jobs"]:
            said.setdefault((job["trainer_id"], job["task_id"]), set()).add(not_for_it(self.results[job["job_id"]]))
        for (trainer, task), kinds in said.items():
            if len(kinds) > 1:
                raise WrongError(f"some jobs of {trainer} on {task} were not for it, others were")

    def _spent(self) -> Data:
        """Return what the ledger tells of all calls; each job's calls and USD are those of its result."""
        size, seal = self._sealed.get("llm/ledger.jsonl", (0, digest(b"")))
        data = self.files.get("llm/ledger.jsonl", b"")
        if len(data) != size or digest(data) != seal:
            raise WrongError("`llm/ledger.jsonl` is not what the journal sealed")
        calls: Counter[str] = Counter()
        usd: dict[str, list[float]] = {}
        for line in data.splitlines():
            record = load(line, "a line of the ledger")
            if record["kind"] == "llm_call" and record["phase"] == "training" and record["status"] == "ok":
                calls[record["job_id"]] += 1
                usd.setdefault(record["job_id"], []).append(record["usd"] or 0.0)
        for id_, result in self.results.items():
            used = result["used"]
            if used["llm_calls"] != calls[id_] or abs((used["usd"] or 0.0) - math.fsum(usd.get(id_, ()))) > CENT:
                raise WrongError(f"job {id_} tells {used['llm_calls']} calls and {used['usd']} USD, the ledger others")
        return {"llm_calls": calls.total(), "usd": math.fsum(x for some in usd.values() for x in some)}

    def marks(self) -> Iterator[tuple[str, str]]:
        """Yield the fingerprint of every job of the run, and the job in words."""
        tasks = self.manifest["tasks"]
        for job in self.manifest["jobs"]:
            content = {name: value for name, value in job.items() if name not in NOT_PROMISED}
            content["source"] = tasks.get(job["task_id"], {}).get("source", "")
            words = f"{job['task_id']} x {job['trainer_id']}, seed {job['seed']}"
            yield digest(canonical([content, job["seed"]])), words


def _caps(job: Data) -> Data:
    return {axis: cap for axis, cap in job["budget"].items() if cap not in (None, False)}


def cell_of(job: Data) -> str:
    """Return the task and the caps of a job: what is promised of these is run whole, or not begun."""
    return canonical([job["task_id"], _caps(job)]).decode()


def draw_of(job: Data) -> str:
    """Return what pairs the jobs of two trainers on one task: the instance that the options name, and the seed."""
    return canonical([job["eval_kwargs"], job["seed"]]).decode()


def root_of(folder: Path, bench: Data) -> str:
    """Return one digest over all receipts."""
    names = ["bench.json", "registration.json", *(part["file"] for part in bench["parts"])]
    return merkle([canonical([name, digest((folder / name).read_bytes())]) for name in names])


def read(folder: Path) -> tuple[Data, dict[str, Receipt], list[str]]:
    """Return the bench, its receipts as far as they are sound, and what is not so."""
    bench = load((folder / "bench.json").read_bytes(), "bench.json")
    wrong: list[str] = []
    receipts: dict[str, Receipt] = {}
    for part in bench["parts"]:
        try:
            if Path(part["file"]).name != part["file"]:
                raise WrongError("its name is no file's")
            receipts[part["name"]] = Receipt(part, folder / part["file"])
        except (WrongError, KeyError, TypeError, ValueError, IndexError) as err:
            wrong.append(f"{part['file']}: {err if isinstance(err, WrongError) else f'it is no receipt ({err!r})'}")
    return bench, receipts, wrong


def promises(bench: Data, receipts: Iterable[Receipt], data: bytes, head: str | None) -> Iterator[str]:
    """Yield what speaks against the promise."""
    try:
        told, promised = registered(data)
    except (WrongError, KeyError, TypeError, ValueError) as err:
        yield f"registration.json: {err if isinstance(err, WrongError) else f'it is no registration ({err!r})'}"
        return
    if told["head"] != bench["registration"] or (head is not None and told["head"] != head):
        yield f"registration.json: its head is {told['head']}, which is not the one that was published"
    left: dict[str, str] = dict(promised)
    begun: set[str] = set()
    for receipt in receipts:
        begun |= {cell_of(job) for job in receipt.manifest["jobs"]}
        at = datetime.fromisoformat(receipt.manifest["created_at"])
        if at < datetime.fromisoformat(told["registered_at"].replace("Z", "+00:00")):
            yield f"{receipt.part['file']}: the run began before the registration was written"
        if receipt.manifest["run_id"] != receipt.part["run_id"]:
            yield f"{receipt.part['file']}: it is the run {receipt.manifest['run_id']}, not {receipt.part['run_id']}"
        for mark, words in receipt.marks():
            if left.pop(mark, None) is None:
                yield f"{receipt.part['file']}: {words} was run twice, or nobody promised it"
    if dropped := sum(cell in begun for cell in left.values()):
        yield f"registration.json: {dropped} promised jobs are in no receipt, though others of the same task and budget are"
    if (not_run := len(left) - dropped) != bench["not_run"]:
        yield f"registration.json: {not_run} promised jobs were not begun, and the page tells {bench['not_run']}"


def secrets(bench: Data, receipts: Iterable[Receipt]) -> Iterator[str]:
    """Yield what speaks against the fields' secret, which a page without fields does not have."""
    release = bench["release"]
    if release is None:
        if any(job["task_id"].startswith("fields:") for one in receipts for job in one.manifest["jobs"]):
            yield "bench.json: there are fields, and their secret was not given away"
    elif digest(release["secret"].encode()) != release["commitment"]:
        yield "bench.json: the fields' secret is not the one that was committed to"
