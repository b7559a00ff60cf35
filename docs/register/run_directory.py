"""The published format of a run directory: every file with its model, from which schemas and the reference page are generated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from tracebench_core.errors import RunDirError
from tracebench_core.specs import Axis, JobResult, JobSpec, JobStatus, RunConfig, Salts, Usage
from tracebench_core.specs.events import AnyEvent
from tracebench_core.specs.regrade import Regrade
from tracebench_runs.meta.manifest import FORMAT_VERSION
from tracebench_runs.results import leaderboard, rows
from tracebench_runs.storage.regular import read_whole

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "libs/tracebench_runs/src/tracebench_runs/schemas"
PAGE = ROOT / "docs/reference/run-directory.md"
_CLOSED = ConfigDict(extra="forbid")
_OPEN = ConfigDict(extra="allow")
SealPair = tuple[int, str]
"""Size in bytes, and SHA-256 in hex."""


class Manifest(TypedDict):
    """What the run is made of. `jobs` has one line per job, so that 100,000 of them can be streamed."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]  # the name that pydantic asks for
    format_version: int
    run_id: str
    config_hash: str
    created_at: NotRequired[str]
    root: NotRequired[str | None]
    versions: NotRequired[dict[str, JsonValue]]
    sandbox: NotRequired[str]
    prices: NotRequired[dict[str, JsonValue]]
    tasks: NotRequired[dict[str, JsonValue]]
    trainers: NotRequired[dict[str, JsonValue]]
    jobs: list[JobSpec]


class Entry(TypedDict):
    """One file of the index."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    path: str
    size: int
    sha256: str


class Head(TypedDict):
    """How far a journal had come: the number of its last line, and the beginning of that line's SHA-256."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    n: int
    head: str


class FilesIndex(TypedDict):
    """Every file of the run as it was when the run ended, and how far its journals had come then."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    files: list[Entry]
    undeclared: NotRequired[list[str]]
    """Jobs whose files are listed though no journal declared them finished then: the index vouches for none of these files."""
    journals: NotRequired[dict[str, Head]]


class JournalLine(TypedDict):
    """One record; `n` counts from 0 without a gap, and `sum` begins the SHA-256 of the line without it.

    In a chained journal `prev` is the SHA-256 of the line before, without its `sum` and with its closing brace, and `mac` begins the
    HMAC-SHA-256 of the line up to it; `chained` begins a chain, over the head of the one before, and tells its `key` by the beginning of
    the key's SHA-256. Journals of older versions have neither, and a run that was begun without a chain goes on without. A job that
    `leans` stands on processes of its runner: what it measured is believed on that runner's word alone.
    """

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    n: int
    t: str
    kind: Literal[
        "opened",
        "job_started",
        "job_trained",
        "job_finished",
        "sealed",
        "settled",
        "run_ended",
        "indexed",
        "accepted",
        "chained",
    ]
    sum: str
    files: NotRequired[dict[str, SealPair]]
    job: NotRequired[str]
    phase: NotRequired[Literal["score"]]
    leans: NotRequired[bool]
    ended: NotRequired[str]
    attempt: NotRequired[str]
    status: NotRequired[JobStatus]
    digest: NotRequired[str]
    events: NotRequired[SealPair]
    boot: NotRequired[str]
    exit_code: NotRequired[int | None]
    wall_seconds: NotRequired[float | None]
    cpu_seconds: NotRequired[float | None]
    overshoot: NotRequired[dict[Axis, float] | None]
    prev: NotRequired[str]
    mac: NotRequired[str]
    key: NotRequired[str]
    index: NotRequired[SealPair | None]
    path: NotRequired[str]
    now: NotRequired[SealPair | None]


class LedgerLine(TypedDict):
    """One call, or of a job: `clock` (its training began), `anew` (its scoring begins again), `release` (it is over).

    Fields of a call are those of the event `llm_call`.
    """

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    v: int
    kind: Literal["llm_call", "clock", "anew", "release"]
    t: str
    job_id: str
    attempt: str
    reused: NotRequired[bool]


class Spent(Usage):
    """What calls of one role and model used."""

    role: str
    model: str


class Spending(TypedDict):
    """What all attempts spent."""

    __pydantic_config__ = _CLOSED  # type: ignore[misc]
    total: Usage
    by: list[Spent]


class Summary(TypedDict):
    """How many jobs ended how, what the attempts that count used, and what all attempts spent."""

    __pydantic_config__ = _OPEN  # type: ignore[misc]
    run_id: str
    jobs: int
    counts: dict[JobStatus, int]
    evaluations: int
    usage: dict[str, Usage]
    spent: NotRequired[Spending | None]
    wall_seconds: float | None
    cpu_seconds: float | None
    exit_code: int | None
    overshoot: NotRequired[dict[Axis, float] | None]
    salts: NotRequired[dict[str, str]]


@dataclass(frozen=True, slots=True)
class File:
    """One kind of file of a run."""

    path: str
    """Relative to the run directory, as a glob."""
    words: str
    form: Literal["JSON", "JSON Lines", "YAML", "CSV", "text", "ZIP", "any"]
    kind: Literal["primary", "derived", "aside"]
    """Primary files are the truth and are never rewritten; derived ones follow from them; what is aside belongs to neither."""
    name: str = ""
    """Of its schema; empty where there is none."""
    model: Any = None
    columns: tuple[str, ...] = ()


FILES = (
    File("meta/manifest.json", "what the run is made of, and its jobs", "JSON", "primary", "manifest", Manifest),
    File("meta/config.snapshot.yaml", "the config as it was understood", "YAML", "primary", "config", RunConfig),
    File("meta/env.json", "machine, interpreter and packages", "JSON", "primary", "env", dict[str, JsonValue]),
    File("meta/git.json", "commit of the working folder", "JSON", "primary", "git", dict[str, JsonValue]),
    File("meta/salts.json", "secrets that generated instances are drawn from", "JSON", "primary", "salts", Salts),
    File("meta/files_index.json", "size and SHA-256 of every file", "JSON", "derived", "files_index", FilesIndex),
    File("mirror.zip", "second copies of the files of `meta/`", "ZIP", "derived"),
    File("journal-*.jsonl", "the root of trust: what was declared, begun and sealed", "JSON Lines", "primary", "journal", JournalLine),
    File("regrades.jsonl", "what candidates scored under later judges", "JSON Lines", "primary", "regrade", Regrade),
    File("control.jsonl", "what people asked of the run under way", "JSON Lines", "primary", "control", dict[str, JsonValue]),
    File("llm/ledger.jsonl", "every model call of every attempt", "JSON Lines", "primary", "ledger", LedgerLine),
    File("llm/calls.jsonl", "the recording, with `llm.record`", "JSON Lines", "primary", "calls", dict[str, JsonValue]),
    File("llm/scorings.jsonl", "what scorings that are not over yet were answered", "JSON Lines", "aside"),
    File("llm/undelivered/*.jsonl", "answers of real models that their callers may not have yet", "JSON Lines", "aside"),
    File("llm/blobs/*/*", "texts of the recording, by the SHA-256 of their content", "any", "primary"),
    File("jobs/*/events.jsonl", "what happened in a job, in order: its truth", "JSON Lines", "primary", "event", AnyEvent),
    File("jobs/*/blobs/*/*", "large values of candidates, by the SHA-256 of their content", "any", "primary"),
    File("jobs/*/results.json", "the job's result, reduced from its events", "JSON", "derived", "results", JobResult),
    File("jobs/*/job_meta.json", "the job as it was planned, and how it ended", "JSON", "derived", "job_meta", dict[str, JsonValue]),
    File("jobs/*/artifacts/*", "with several candidates: initial, best, final values, the history; what the suite kept", "any", "derived"),
    File("jobs/*/tb/*", "events for TensorBoard", "any", "derived"),
    File("jobs/*/scoring.jsonl", "what a scoring that is not over yet has measured", "JSON Lines", "aside"),
    File("jobs/*/stdout.log", "what the job printed, if anything", "text", "aside"),
    File("attempts/*", "earlier attempts at jobs, whole", "any", "primary"),
    File("incoming/*", "what jobs on other machines write, until they have ended", "any", "aside"),
    File("results.csv", "one line per job", "CSV", "derived", columns=rows.COLUMNS),
    File("leaderboard.csv", "one line per trainer and task", "CSV", "derived", columns=leaderboard.COLUMNS),
    File("summary.json", "counts, use and spending", "JSON", "derived", "summary", Summary),
    File("lost+found/*", "what a repair set aside", "any", "aside"),
    File("*.log", "what the processes of the run said", "text", "aside"),
    File("llm/gateway.log", "what the gateway said", "text", "aside"),
    File("evaluations.count", "evaluations so far, of a run with a cap on them", "any", "aside"),
    File(".lock", "held by the process that works on the run", "any", "aside"),
)  # fmt: skip
PROMISE = f"""\
The format has a version, {FORMAT_VERSION}, in `format_version` of the manifest. Readers accept every older version; one that is
newer than the reader is refused with words. Within a version fields are only added: a reader must skip fields, columns, kinds of
events and files that it does not know. No field changes its meaning or unit, and columns keep their order, with new ones at the
end. A run directory of every released version is read in the tests.
"""


def schemas() -> dict[str, dict[str, Any]]:
    """Return a JSON Schema (2020-12) by the name of the file's model; of JSON Lines it is that of a line."""
    return {
        f.name: {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$comment": f"{f.path}, run format {FORMAT_VERSION}",
            **_adapter(f.name).json_schema(mode="serialization"),
        }
        for f in FILES
        if f.name
    }


def nonconforming(run_dir: Path) -> Iterator[str]:
    """Yield every file of a run that no entry of `FILES` describes, or that is not as its model says, with the reason."""
    known: dict[Path, File] = {}
    for file in reversed(FILES):
        known |= dict.fromkeys(run_dir.glob(file.path), file)
    for path in sorted(run_dir.rglob("*")):
        if not path.is_file():
            continue
        found = known.get(path) or next((known[p] for p in path.parents if p in known), None)
        name = path.relative_to(run_dir).as_posix()
        if found is None:
            yield f"{name}: not described"
        elif found.name and found.form.startswith("JSON"):
            yield from (f"{name}: {reason}" for reason in _faults(found, path))


def page() -> str:
    """Return `docs/reference/run-directory.md`."""
    table = "\n".join(
        f"| `{f.path}` | {f.form} | {f.kind} | {f.words} | {f'`{f.name}.schema.json`' if f.name else ''} |"
        for f in FILES
    )
    columns = "\n\n".join(
        f"`{f.path}` has these columns, in this order: {', '.join(f'`{c}`' for c in f.columns)}."
        for f in FILES
        if f.columns
    )
    return _PAGE.format(table=table, columns=columns, promise=PROMISE, events=_event_table())


def _faults(file: File, path: Path) -> Iterator[str]:
    data = read_whole(path)
    for number, text in enumerate(data.splitlines() if file.form == "JSON Lines" else [data], start=1):
        try:
            _adapter(file.name).validate_json(text)
        except (ValidationError, RunDirError) as err:
            yield f"{number}: {err}"


@lru_cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(next(f.model for f in FILES if f.name == name))


def _event_table() -> str:
    lines = []
    for definition in schemas()["event"]["$defs"].values():
        fields = definition.get("properties", {})
        kind = fields.get("kind", {}).get("const")
        if kind is not None:
            own = [name for name in fields if name not in {"kind", "v", "seq", "t", "mono"}]
            words = definition.get("description", "").partition("\n")[0]
            lines.append(f"| `{kind}` | {words} | {', '.join(f'`{name}`' for name in own)} |")
    return "\n".join(sorted(lines))


_PAGE = """\
# The run directory

This page is generated from the models (`just formats`), and so are the JSON Schemas in `tracebench_runs/schemas/` of the
installed package. Everything that a command, a report or a data frame shows comes from these files; `load_run(path)` reads them, and
[Analyse a run](../how-to/analyse-a-run.md) says how other programs do.

## Files

Primary files are the truth: nothing can rebuild them and nothing rewrites them. Derived files follow from primary ones, and
`trace-bench fsck --repair` builds them anew. Files marked `aside` are neither. Text is UTF-8, times are UTC (ISO 8601) or seconds,
money is USD, and an unknown value is `null` or an empty cell, never 0. JSON has no `NaN` and no infinities: they are written as the
strings `"NaN"`, `"Infinity"` and `"-Infinity"`.

| file | form | kind | content | schema |
|---|---|---|---|---|
{table}

## Tables

{columns}

`usage`, and the columns named like its parts, are those of the attempt that counts; `spent` is the sum over all attempts.

## Events

Common to all: `v` (version), `seq` (from 0, without a gap), `t` (UTC), `mono` (seconds since the job began).

| kind | | fields |
|---|---|---|
{events}

## Trust

The journal vouches for the rest: `job_finished` names the SHA-256 of a result and the size and SHA-256 of its events, `opened` those of
the files of `meta/`, `sealed` how far ledger, recording, control log and later scores had come, and `indexed` the index of files.
[Crash safety](../explanation/crash-safety.md) tells how that is used.

## What stays as it is

{promise}"""


if __name__ == "__main__":
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        (SCHEMAS / f"{name}.schema.json").write_text(text, encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
