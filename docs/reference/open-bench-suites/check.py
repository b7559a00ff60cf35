"""Checks a page of the open bench: python3 -I -S check.py --help"""

from __future__ import annotations

"""Receipts as the standard library reads them: the registration's head, the journal's chain, and what the chain seals.

This module, `sums`, `what_if` and `page` make one file, `check.py`, which runs wherever Python does; they import nothing else.
"""


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


"""Figures of one run, by statistics that are written here a second time: Student, Holm, Friedman and Nemenyi without a library."""


import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


COUNTED = ("ok", "timeout")
CONFIDENCE = 0.95
ROUNDING = 1e-9
CONVERGED = 1e-16
LEAST = 2
"""Scores of which a spread can be told, and optimizers of which a rank can."""


def beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 500):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + top * d), 1 + top / c
            total *= c * d
        if abs(c * d - 1) < CONVERGED:
            break
    return front * total


def t_tails(t: float, df: int) -> float:
    """Return the two-sided probability of Student's t."""
    return beta_share(df / (df + t * t), df / 2, 0.5)


def t_quantile(df: int) -> float:
    """Return the t beyond which 5 % lie, on both sides together."""
    low, high = 0.0, 1e4
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tails(middle, df) > 1 - CONFIDENCE else (low, middle)
    return high


def variance(values: Sequence[float], size: float) -> float:
    """Return the sample variance; 0 where rounding alone holds the values apart."""
    if max(values) - min(values) <= ROUNDING * size:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)


def mean_of(scores: Sequence[float]) -> Data:
    """Return a mean with Student's interval over seeds."""
    mean = math.fsum(scores) / len(scores)
    if len(scores) < LEAST:
        return {"estimate": mean, "low": None, "high": None}
    spread = variance(scores, max(map(abs, scores)))
    half = t_quantile(len(scores) - 1) * math.sqrt(spread / len(scores))
    return {"estimate": mean, "low": mean - half, "high": mean + half}


def difference(one: Mapping[str, Mapping[str, float]], other: Mapping[str, Mapping[str, float]]) -> Data:
    """Return one trainer minus another over tasks of one scale, paired by seed: estimate, interval, probability."""
    means, errors, ways, freedom, free, alone = [], [], 1.0, 0.0, 0, False
    for task, scores in one.items():
        size = max(abs(x) for x in [*scores.values(), *other[task].values()])
        found = [scores[seed] - other[task][seed] for seed in scores]
        found = [0.0 if abs(d) <= ROUNDING * size else d for d in found]
        means.append(math.fsum(found) / len(found))
        alone = alone or len(found) < LEAST
        if alone:
            continue
        errors.append(variance(found, size) / len(found))
        free += len(found) - 1
        freedom += errors[-1] ** 2 / (len(found) - 1)
        if means[-1]:
            ways *= 2.0 ** len(found)
    estimate, total = math.fsum(means) / len(means), math.fsum(errors)
    if alone:  # one pair tells of no spread
        return {"estimate": estimate, "low": None, "high": None, "p": 1.0}
    if total == 0:
        one_sided = len({m > 0 for m in means if m}) == 1
        probability = min(1.0, 2 / ways) if one_sided else 1.0
        ends = (None, None) if estimate else (0.0, 0.0)
        return {"estimate": estimate, "low": ends[0], "high": ends[1], "p": probability}
    df = max(1, math.floor(total**2 / freedom + ROUNDING)) if freedom else free
    error = math.sqrt(total) / len(means)
    half = t_quantile(df) * error
    return {"estimate": estimate, "low": estimate - half, "high": estimate + half, "p": t_tails(estimate / error, df)}


def holm(probabilities: Sequence[float]) -> list[float]:
    """Return Holm's adjusted probabilities."""
    order = sorted(range(len(probabilities)), key=lambda i: probabilities[i])
    found, highest = [0.0] * len(order), 0.0
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * probabilities[i]))
        found[i] = highest
    return found


def ranks_of(scores: Sequence[float]) -> list[float]:
    """Return ranks, 1 for the highest, equal ones sharing theirs."""
    return [1 + sum(x > own for x in scores) + (scores.count(own) - 1) / 2 for own in scores]


def gamma_tail(x: float, a: float) -> float:
    """Return the regularised upper incomplete gamma function."""
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 2000):
            term *= x / (a + n)
            total += term
        return 1 - front * total
    b, c = x + 1 - a, 1e300
    d = 1 / b
    total = d
    for n in range(1, 2000):
        top = -n * (n - a)
        b += 2
        d, c = 1 / (top * d + b), b + top / c
        total *= c * d
    return front * total


def normal_cdf(z: float) -> float:
    """Return P(Z <= z)."""
    return math.erfc(-z / math.sqrt(2)) / 2


def range_tail(width: float, groups: int) -> float:
    """Return the probability that independent standard normals span more than `width`, by the trapezoidal rule."""
    step, total = 1 / 64, 0.0
    for i in range(-8 * 64, 8 * 64 + 1):
        z = i * step
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        total += density * (normal_cdf(z + width) - normal_cdf(z)) ** (groups - 1)
    return 1 - groups * step * total


def compare_ranks(blocks: Sequence[Sequence[float]]) -> Data:
    """Return mean ranks, Friedman's probability and Nemenyi's critical difference (Demsar, 2006)."""
    n, k = len(blocks), len(blocks[0])
    rows = [ranks_of(block) for block in blocks]
    means = [math.fsum(column) / n for column in zip(*rows, strict=True)]
    ties = sum(count**3 - count for row in rows for count in Counter(row).values())
    top = 12 * math.fsum((n * mean - n * (k + 1) / 2) ** 2 for mean in means)
    bottom = n * k * (k + 1) - ties / (k - 1)
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if range_tail(middle, k) > 1 - CONFIDENCE else (low, middle)
    return {
        "ranks": means,
        "blocks": n,
        "p": gamma_tail(top / bottom / 2, (k - 1) / 2) if bottom > 0 else 1.0,
        "critical": high / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n)),
    }


def figures(receipt: Receipt, reference: str) -> Data:
    """Return every figure of one run, computed from its results alone."""
    jobs = receipt.manifest["jobs"]
    tasks = list(dict.fromkeys(job["task_id"] for job in jobs))
    chosen = selected(jobs, receipt.results)

    def score(job: Data, result: Data, *, initial: bool = False) -> float | None:
        return counts(result, chosen=job["task_id"] in chosen, initial=initial)

    rows: dict[str, list[tuple[Data, Data]]] = {}
    for job in jobs:
        rows.setdefault(job["trainer_id"], []).append((job, receipt.results[job["job_id"]]))
    scores: dict[str, dict[str, dict[str, float]]] = {}
    ended: dict[str, Data] = {}
    apart: dict[str, dict[str, Data]] = {}
    for name, found in rows.items():
        good = [(j, x) for j, r in found if r["status"] in COUNTED and (x := score(j, r)) is not None]
        run = [r for _, r in found if not not_for_it(r)]
        ended[name] = {"jobs": len(found), "scored": len(good), "run": len(run), **(used(run) if run else {})}
        if len(good) == len(found):
            scores[name] = {t: {draw_of(j): x for j, x in good if j["task_id"] == t} for t in tasks}
        else:
            asked = Counter(j["task_id"] for j, _ in found)
            some = {t: [x for j, x in good if j["task_id"] == t] for t in tasks}
            apart |= {name: {t: mean_of(s) for t, s in some.items() if s and len(s) == asked[t]}}
    initial = {t: [score(j, r, initial=True) for j, r in rows[reference] if j["task_id"] == t] for t in tasks}
    whole = {t: [x for x in scores if x is not None and None not in scores] for t, scores in initial.items()}
    return {
        "tasks": tasks,
        "selected": [t for t in tasks if t in chosen],
        "draws": len({draw_of(j) for j, _ in rows[reference]}),
        "initial": {t: math.fsum(whole[t]) / len(whole[t]) if whole[t] else None for t in tasks},
        "ended": ended,
        "means": {n: {t: mean_of([*by[t].values()]) for t in tasks} for n, by in scores.items()},
        "apart": {n: by for n, by in apart.items() if by},
        "against": against(scores, tasks, reference),
        "overall": overall(scores, reference) if receipt.part["one_scale"] else None,
        "ranks": ranks(scores, tasks, by_draw=receipt.part["one_scale"]),
        "spent": receipt.spent,
        "seconds": math.fsum(r["time_seconds"] for found in rows.values() for _, r in found),
    }


def used(found: Sequence[Data]) -> Data:
    """Return what a trainer's jobs used on average."""
    mean = {
        axis: math.fsum(r["used"][axis] or 0 for r in found) / len(found)
        for axis in ("llm_calls", "evaluations", "usd")
    }
    return {**mean, "seconds": math.fsum(r["used"]["seconds"] for r in found) / len(found)}


def against(scores: Mapping[str, Any], tasks: Sequence[str], reference: str) -> Data:
    """Return each trainer minus the reference on each task, Holm over all of them."""
    keys = [(n, t) for n in scores for t in tasks if n != reference and reference in scores]
    found = [difference({t: scores[n][t]}, {t: scores[reference][t]}) for n, t in keys]
    adjusted = holm([d["p"] for d in found])
    told: Data = {}
    for (name, task), one, p in zip(keys, found, adjusted, strict=True):
        told.setdefault(name, {})[task] = {**one, "holm": p}
    return told


def overall(scores: Mapping[str, Any], reference: str) -> Data:
    """Return each trainer minus the reference over all tasks, which have one scale, Holm over the trainers."""
    names = [n for n in scores if n != reference and reference in scores]
    found = [difference(scores[n], scores[reference]) for n in names]
    return {n: {**d, "holm": p} for n, d, p in zip(names, found, holm([d["p"] for d in found]), strict=True)}


def ranks(scores: Mapping[str, Any], tasks: Sequence[str], *, by_draw: bool) -> Data | None:
    """Return mean ranks: each draw of a task a block where it is another field, else each task."""
    names = [*scores]
    if by_draw:
        blocks = [[scores[n][t][s] for n in names] for t in tasks for s in scores[names[0]][t]] if names else []
    else:
        blocks = [[math.fsum(scores[n][t].values()) / len(scores[n][t]) for n in names] for t in tasks]
    if min(len(names), len(blocks)) < LEAST:
        return None
    found = compare_ranks(blocks)
    return {**found, "ranks": dict(zip(names, found["ranks"], strict=True))}


"""The page with sliders: what each optimizer had by a smaller budget or at other prices, from receipts alone."""


import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any


WHAT_IF = "what-if.html"


def followed(receipt: Receipt) -> Iterator[Data]:
    """Yield each job: whose it is, its scores, and its steps as [calls, evaluations, prompt and completion tokens, best].

    `best` is what the trainer had measured of its best candidate by then. `found` is the step that made the candidate which the job
    returned, or -1 where that is the initial one. Tokens are those of the first calls of the job in the ledger.
    """
    tokens = _tokens(receipt)
    without_test = selected(receipt.manifest["jobs"], receipt.results)
    for job in receipt.manifest["jobs"]:
        result, own = receipt.results[job["job_id"]], tokens.get(job["job_id"], [(0, 0)])
        chosen = job["task_id"] in without_test
        steps = []
        for step in result["steps"]:
            calls = min(step["used"]["llm_calls"], len(own) - 1)
            steps.append([calls, step["used"]["evaluations"], *own[calls], _short(step["best"])])
        yield {
            "task": job["task_id"],
            "trainer": job["trainer_id"],
            "draw": draw_of(job),
            "initial": _short(counts(result, chosen=chosen, initial=True)),
            "returned": _short(counts(result, chosen=chosen)),
            "found": -1 if result["best_step"] is None else result["best_step"],
            "steps": steps,
        }


def _tokens(receipt: Receipt) -> dict[str, list[tuple[int, int]]]:
    """Return for each job the tokens of its first n calls, n from 0."""
    found: dict[str, list[tuple[int, int]]] = {}
    for line in receipt.files.get("llm/ledger.jsonl", b"").splitlines():
        record = load(line, "a line of the ledger")
        if record["kind"] == "llm_call" and record["phase"] == "training" and record["status"] == "ok":
            own = found.setdefault(record["job_id"], [(0, 0)])
            own.append((own[-1][0] + record["prompt_tokens"], own[-1][1] + record["completion_tokens"]))
    return found


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.9g}")


def what_if(bench: Data, receipts: Mapping[str, Receipt]) -> str:
    """Return the page, one file that opens from disk and asks the network for nothing."""
    parts: list[Data] = []
    without_test: set[str] = set()
    for part in bench["parts"]:
        receipt = receipts[part["name"]]
        without_test |= selected(receipt.manifest["jobs"], receipt.results)
        jobs = [*followed(receipt)]
        names = {kind: list(dict.fromkeys(job[kind] for job in jobs)) for kind in ("task", "trainer", "draw")}
        rows: list[list[Any]] = [
            [
                *(names[kind].index(job[kind]) for kind in names),
                job["initial"],
                job["returned"],
                job["found"],
                job["steps"],
            ]
            for job in jobs
        ]
        parts.append({"title": part["title"], "by_draw": part["one_scale"], **names, "jobs": rows})
    data = json.dumps({"prices": bench["prices"], "parts": parts}, separators=(",", ":")).replace("<", "\\u003c")
    note = (
        NOTE.format(", ".join(f"<code>{escape(task)}</code>" for task in sorted(without_test))) if without_test else ""
    )
    return PAGE.replace("@NOTE@", note).replace("@DATA@", data)


NOTE = """
<p>These tasks have no test split: {}. Their scores, which are not held out, are those on the examples that winners were chosen on.</p>"""


PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>The open bench: other budgets and prices</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
label { display: grid; grid-template-columns: minmax(0, 15rem) 1fr 5rem; gap: 1rem; align-items: center; }
input { width: 100%; min-width: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin-top: 1rem; width: 100%; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
output { font-variant-numeric: tabular-nums; }
</style>
<main>
<h1>Other budgets and prices</h1>
<p>Every job of the page is cut where its next step would go past a cap below. Its score is what is known of that moment: the held-out
score of the candidate that it returned if it had found it by then, else that of the initial one. What it had in between was never scored,
so an optimizer that improves often is shown too low at small caps. What a job would have done at a higher cap is not known.</p>@NOTE@
<p><label>Part <select id="part"></select></label></p>
<div id="sliders"></div>
<div class="wide" tabindex="0" role="region" aria-label="optimizers">
<table>
<thead><tr><th>optimizer</th><th>mean rank</th><th>known score</th><th>had found it</th><th>as it measured</th><th>calls</th>
<th>evaluations</th><th>USD</th></tr></thead>
<tbody id="rows"></tbody>
</table>
</div>
<p>Known score and its rank are over all tasks of the part, each draw or task a block, as on the page. <em>As it measured</em> is what the
optimizer thought of its best by then, on the examples that it chose to measure, which differ between optimizers.</p>
</main>
<script id="data" type="application/json">@DATA@</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const [TASK, TRAINER, DRAW, INITIAL, RETURNED, FOUND, STEPS] = [0, 1, 2, 3, 4, 5, 6];
const mean = (xs) => xs.reduce((a, b) => a + b, 0) / xs.length;
const chooser = document.getElementById("part");
const at = {};
let part;

const usdOf = (step) => (step[2] * at.prompt.value + step[3] * at.completion.value) / 1e6;

function slider(name, words, max, value, shown) {
  const label = document.createElement("label"), input = document.createElement("input"), told = document.createElement("output");
  Object.assign(input, { type: "range", min: 0, max: 1000, step: 1, id: name });
  input.setAttribute("aria-label", words);
  at[name] = { get value() { return max * input.value / 1000; }, tell() { told.textContent = shown(this.value); } };
  input.value = Math.round(1000 * value / max);
  input.addEventListener("input", draw);
  label.append(words, input, told);
  document.getElementById("sliders").append(label);
}

function open() {
  part = data.parts[chooser.value];
  document.getElementById("sliders").replaceChildren();
  const most = (of) => Math.max(1e-9, ...part.jobs.map((job) => job[STEPS].length ? of(job[STEPS].at(-1)) : 0));
  const usd = (x) => x.toFixed(5);
  slider("prompt", "USD per million prompt tokens", 10 * data.prices.prompt, data.prices.prompt, (x) => x.toFixed(3));
  slider("completion", "USD per million completion tokens", 10 * data.prices.completion, data.prices.completion, (x) => x.toFixed(3));
  const whole = (x) => String(Math.floor(x + 1e-9));
  slider("calls", "calls, at most", most((s) => s[0]), most((s) => s[0]), whole);
  slider("evaluations", "evaluations, at most", most((s) => s[1]), most((s) => s[1]), whole);
  slider("usd", "USD, at most", 10 * most(usdOf), 10 * most(usdOf), usd);
  draw();
}

function stateOf(job) {
  let last = -1;
  const fits = (s) => s[0] <= at.calls.value + 1e-9 && s[1] <= at.evaluations.value + 1e-9 && usdOf(s) <= at.usd.value * (1 + 1e-9);
  while (last + 1 < job[STEPS].length && fits(job[STEPS][last + 1])) last += 1;
  const found = last >= job[FOUND], step = last < 0 ? [0, 0, 0, 0, null] : job[STEPS][last];
  return { found, known: found ? job[RETURNED] : job[INITIAL], measured: step[4], calls: step[0], evaluations: step[1], usd: usdOf(step) };
}

function ranksOf(scores) {
  return scores.map((own) => 1 + scores.filter((x) => x > own).length + (scores.filter((x) => x === own).length - 1) / 2);
}

function draw() {
  Object.values(at).forEach((one) => one.tell());
  const rows = part.trainer.map(() => []), blocks = new Map();
  for (const job of part.jobs) {
    const state = stateOf(job), block = part.by_draw ? `${job[TASK]} ${job[DRAW]}` : `${job[TASK]}`;
    rows[job[TRAINER]].push(state);
    if (!blocks.has(block)) blocks.set(block, part.trainer.map(() => []));
    blocks.get(block)[job[TRAINER]].push(state.known);
  }
  const whole = rows.map((row) => row.every((s) => s.known !== null));
  const places = part.trainer.map(() => []);
  for (const scores of blocks.values()) {
    const own = scores.map((xs, i) => (whole[i] ? mean(xs) : null)), kept = own.filter((x) => x !== null), ranked = ranksOf(kept);
    let next = 0;
    own.forEach((x, i) => { if (x !== null) places[i].push(ranked[next++]); });
  }
  const told = part.trainer.map((name, i) => {
    const row = rows[i], measured = row.map((s) => s.measured).filter((x) => x !== null);
    const number = (xs, digits) => (xs.length ? mean(xs).toFixed(digits) : "");
    return [name, number(places[i], 2), whole[i] ? number(row.map((s) => s.known), 3) : "missing",
      `${Math.round(100 * mean(row.map((s) => Number(s.found))))}%`, number(measured, 3), number(row.map((s) => s.calls), 1),
      number(row.map((s) => s.evaluations), 1), number(row.map((s) => s.usd), 5)];
  });
  told.sort((a, b) => (a[1] || Infinity) - (b[1] || Infinity));
  document.getElementById("rows").replaceChildren(...told.map((cells) => {
    const line = document.createElement("tr");
    line.append(...cells.map((words) => Object.assign(document.createElement("td"), { textContent: words })));
    return line;
  }));
}

data.parts.forEach((one, i) => chooser.append(Object.assign(document.createElement("option"), { value: i, textContent: one.title })));
chooser.addEventListener("change", open);
open();
</script>
"""


"""The page that figures give, and the command that compares one with its receipts."""


import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


ABOUT = """Checks a page of the open bench against its receipts with Python's standard library alone, whatever else is installed.

FOLDER holds `bench.json`, `registration.json` and a ZIP for each run. This file sees that the registration has the head it tells; that each
run's journal is an unbroken chain to the head on the page; that every result is the one that the journal sealed; that the runs hold the
promised jobs, each once, and no other, and began after the promise; that each job's calls and USD are those of the sealed ledger; that the
fields' secret is the one that was committed to. Then it computes every figure again and compares the pages letter by letter. It exits
with 0 when all of it is so, and else with 1 and a line for each thing that is not.
"""


MARK = " †"
CHOSEN = (
    "† has no test split: its scores, also that of the initial candidate, are those on the examples that winners were chosen on. They say "
    "what was found there, and not whether it holds on others."
)


def signed(value: float | None, places: int = 3) -> str:
    """Return a number with its sign; never a negative nothing."""
    return "" if value is None else f"{value + 0.0:+.{places}f}".replace(f"-{0:.{places}f}", f"+{0:.{places}f}")


def plain(value: float, places: int = 3) -> str:
    """Return a number; never a negative nothing."""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def within(one: Data, places: int = 3) -> str:
    """Return an interval in brackets."""
    return "" if one["low"] is None else f" [{signed(one['low'], places)}, {signed(one['high'], places)}]"


def word(one: Data, alpha: float) -> str:
    """Return whether a difference is told apart."""
    if one["holm"] > alpha:
        return "not resolved"
    return "better" if one["estimate"] > 0 else "worse"


def page(bench: Data, found: Mapping[str, Data], root: str) -> str:
    """Return the page of results."""
    lines = [*bench["words"]["head"], ""]
    for part in bench["parts"]:
        lines += [*section(part, found[part["name"]], bench), ""]
    lines += [*summary(bench, found), "", *bench["words"]["tail"], "", *proof(bench, root)]
    return "\n".join(lines) + "\n"


def section(part: Data, one: Data, bench: Data) -> Iterator[str]:
    """Yield the tables of one run."""
    reference, alpha = bench["reference"], bench["alpha"]
    yield f"## {part['title']}"
    yield ""
    yield from part["words"]
    yield ""
    yield (
        f"Every figure of this section is of one run: [its receipt]({bench['folder']}/{part['file']}), `{part['run_id']}`, journal head "
        f"`{part['head'][:16]}`; {sum(e['jobs'] for e in one['ended'].values())} jobs."
    )
    yield ""
    short = [f"`{t.rpartition(':')[2].rpartition('/')[2]}`{MARK * (t in one['selected'])}" for t in one["tasks"]]
    order = sorted(one["means"], key=lambda n: one["ranks"]["ranks"][n] if one["ranks"] else 0)
    yield "| optimizer | " + " | ".join(short) + " | mean rank |"
    yield "|---|" + "---|" * (len(short) + 1)
    for name in order:
        cells = [f"{plain(one['means'][name][t]['estimate'])} ±{half(one['means'][name][t])}" for t in one["tasks"]]
        rank = plain(one["ranks"]["ranks"][name], 2) if one["ranks"] else ""
        yield f"| {name} | {' | '.join(cells)} | {rank} |"
    for name, by in sorted(one["apart"].items()):
        cells = [f"{plain(by[t]['estimate'])} ±{half(by[t])}" if t in by else "" for t in one["tasks"]]
        yield f"| {name} | {' | '.join(cells)} | |"
    yield f"| (initial) | {' | '.join('' if x is None else plain(x) for x in (one['initial'][t] for t in one['tasks']))} | |"
    yield ""
    if one["selected"]:
        yield CHOSEN
        yield ""
    yield from rank_words(one, order)
    yield ""
    yield f"Minus `{reference}`, paired by seed, with 95 % intervals; `better` and `worse` after Holm over all cells of the table:"
    yield ""
    with_all = one["overall"] is not None
    yield f"| optimizer | {' | '.join(short)} |" + (" all of them |" if with_all else "")
    yield "|---|" + "---|" * (len(short) + with_all)
    for name in order:
        if name in one["against"]:
            differences = [one["against"][name][t] for t in one["tasks"]] + ([one["overall"][name]] if with_all else [])
            told = [f"{signed(c['estimate'])}{within(c)} {word(c, alpha)}" for c in differences]
            yield f"| {name} | {' | '.join(told)} |"
    yield ""
    yield from uses(one, order)


def half(one: Data) -> str:
    """Return the half width of an interval."""
    return "?" if one["low"] is None else plain((one["high"] - one["low"]) / 2)


def rank_words(one: Data, order: Sequence[str]) -> Iterator[str]:
    """Yield what the ranks tell, and what they do not."""
    if not one["ranks"]:
        yield "Too few optimizers or tasks for ranks."
        return
    told, critical = one["ranks"], one["ranks"]["critical"]
    first = told["ranks"][order[0]]
    level = [n for n in order[1:] if told["ranks"][n] - first < critical]
    apart = [n for n in order[1:] if told["ranks"][n] - first >= critical]
    yield (
        f"Ranks over {told['blocks']} blocks: critical difference {plain(critical, 2)} (Nemenyi, 5 %), Friedman p = {told['p']:.2g}. "
        f"First is {order[0]}; **not resolved** from it: {', '.join(level) or 'none'}. Behind it: {', '.join(apart) or 'none'}."
    )


def uses(one: Data, order: Sequence[str]) -> Iterator[str]:
    """Yield what the jobs used."""
    yield "| optimizer | jobs with a score | calls a job | evaluations a job | USD a job | seconds a job |"
    yield "|---|---|---|---|---|---|"
    for name in [*order, *(n for n in one["ended"] if n not in order)]:
        e = one["ended"][name]
        if not e["run"]:
            yield f"| {name} | none: it says that these tasks are not for it | | | | |"
            continue
        yield (
            f"| {name} | {e['scored']} of {e['run']} | {plain(e['llm_calls'], 1)} | {plain(e['evaluations'], 1)} | "
            f"{plain(e['usd'], 5)} | {plain(e['seconds'], 2)} |"
        )


def summary(bench: Data, found: Mapping[str, Data]) -> Iterator[str]:
    """Yield what all of it cost."""
    calls = sum(one["spent"]["llm_calls"] for one in found.values())
    usd = math.fsum(one["spent"]["usd"] for one in found.values())
    jobs = sum(e["jobs"] for one in found.values() for e in one["ended"].values())
    hours = math.fsum(one["seconds"] for one in found.values()) / 60
    yield "## What all of it cost"
    yield ""
    yield (
        f"{jobs} jobs, {calls} model calls, {plain(usd, 4)} USD at the prices stated above (nobody was paid: the model is a script), "
        f"{plain(hours, 1)} minutes of jobs, {plain(bench['seconds'] / 60, 1)} minutes on the clock."
    )
    yield ""
    if bench["not_run"]:
        yield f"**Promised and not run: {bench['not_run']} jobs**, whole parts of which no job was begun."
        yield ""
    if "prices" in bench:
        yield f"[Other budgets and prices]({bench['folder']}/{WHAT_IF}): the same runs, cut short or paid for otherwise, by sliders."
        yield ""
    yield f"Machine: {bench['machine']}. Versions: {', '.join(bench['versions'])}. Commit: `{bench['commit']}`."


def proof(bench: Data, root: str) -> Iterator[str]:
    """Yield how the page is checked."""
    release = bench["release"]
    fields = (
        ""
        if release is None
        else f"Fields: release `{release['name']}`, commitment `{release['commitment']}`, "
        f"secret given away with this page: `{release['secret']}`. "
    )
    yield "## Check it"
    yield ""
    yield "```console"
    folder = bench["folder"]
    for words in (["python3", "-I", "-S", f"{folder}/check.py"], ["trace-bench", "open-bench", "verify"]):
        yield " ".join(["$", *words, folder, "--page", f"{folder}.md"])
    yield "```"
    yield ""
    yield (
        f"The first needs nothing but Python 3.11, the second computes every figure with the bench's own library. Head of the "
        f"registration, written before the first call: `{bench['registration']}`. {fields}Root of all receipts: `{root}`."
    )


def beside(folder: Path, bench: Data, receipts: Mapping[str, Receipt]) -> Iterator[str]:
    """Yield where the page with sliders is not what the receipts give; pages of earlier versions have none."""
    if "prices" not in bench:
        if (folder / WHAT_IF).exists():
            yield f"{WHAT_IF} is of no page of this version: bench.json tells no prices"
        return
    try:
        told = (folder / WHAT_IF).read_text(encoding="utf-8")
    except (OSError, ValueError) as err:
        yield f"{WHAT_IF}: it cannot be read: {err}"
        return
    if told != what_if(bench, receipts):
        yield f"{WHAT_IF} is not what the receipts give"


def say(words: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{words}\n")


def main() -> int:
    """Check, and say what was found."""
    parser = argparse.ArgumentParser(description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", type=Path, help="the page; left out, the receipts alone are checked")
    parser.add_argument("--head", help="of the registration, as it was published before the first call")
    parser.add_argument("--root", help="of the receipts, as somebody kept it")
    asked = parser.parse_args()
    try:
        wrong, so = checked(asked.folder, asked.page, head=asked.head, root=asked.root)
    except (
        OSError,
        WrongError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as err:
        wrong, so = [f"{asked.folder}: these are no receipts of the open bench, or not its page: {err!r}"], ""
    for line in wrong or [so]:
        say(line)
    return int(bool(wrong))


def checked(folder: Path, told: Path | None, *, head: str | None, root: str | None) -> tuple[list[str], str]:
    """Return whatever of the receipts, and of a page, is not so, and in a line what was found to be so."""
    bench, receipts, wrong = read(folder)
    own = root_of(folder, bench)
    wrong += promises(bench, receipts.values(), (folder / "registration.json").read_bytes(), head)
    wrong += secrets(bench, receipts.values())
    if root is not None and root != own:
        wrong.append(f"the root of these receipts is {own}, which is not the one that was kept")
    if told is not None and not wrong:
        found = {name: figures(receipt, bench["reference"]) for name, receipt in receipts.items()}
        wrong += differing(told.read_text(encoding="utf-8"), page(bench, found, own))
        wrong += beside(folder, bench, receipts)
    return wrong, f"All of it is so: {len(receipts)} runs, registration {bench['registration'][:16]}, root {own[:16]}."


def differing(told: str, computed: str) -> Iterator[str]:
    """Yield where a page tells other figures than its receipts."""
    left, right = told.splitlines(), computed.splitlines()
    for number in range(max(len(left), len(right))):
        a, b = (lines[number] if number < len(lines) else "(no line)" for lines in (left, right))
        if a != b:
            yield f"line {number + 1} of the page is not what the receipts give:\n  page:     {a}\n  computed: {b}"


if __name__ == "__main__":
    sys.exit(main())
