"""A registration: the jobs that a study promises, and the head that is published before the first of them runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from tracebench_core.errors import UsageError
from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import JobSpec
from tracebench_engine.api.console.writing import put_new
from tracebench_open.bench.alone.receipts import NOT_PROMISED
from tracebench_open.merkle import head_of

HEX = Field(pattern=r"^[0-9a-f]{64}$")
NONCE_BYTES = 32


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Config(_Part):
    """A config whose jobs were registered."""

    name: str
    """Its file's name."""
    sha256: str = HEX
    """Of the file's bytes."""


class Series(_Part):
    """Jobs that are alike but for their seeds."""

    job: dict[str, JsonValue]
    """All that a job's measurements depend on but the seed."""
    seeds: tuple[int, ...] = Field(min_length=1)

    @field_validator("job")
    @classmethod
    def _is_of_a_job(cls, job: dict[str, Any]) -> dict[str, Any]:
        for name in ("task_id", "trainer_id"):
            if not isinstance(job.get(name), str):
                raise ValueError(f"a job has a `{name}`")  # noqa: TRY004 - pydantic turns it into words
        canonical_json(job)  # which refuses numbers that JSON has not
        return job


class Registration(_Part):
    """What was promised. Its head may be published alone: `nonce` keeps anybody from finding the jobs by trying."""

    kind: Literal["preregistration"] = "preregistration"
    schema_version: Literal[1] = 1
    head: str = HEX
    registered_at: AwareDatetime
    """As the machine that wrote it had it: what proves the time is where the head was published."""
    nonce: str = HEX
    configs: tuple[Config, ...] = Field(min_length=1)
    plugins: tuple[str, ...]
    """Of whom the tasks and trainers are, `distribution version`; told where a run has others."""
    jobs: tuple[Series, ...] = Field(min_length=1)

    def promised(self) -> Iterator[tuple[str, Series, int]]:
        """Yield the fingerprint of every job in order, with the series it is of and its seed."""
        for series in self.jobs:
            for seed in series.seeds:
                yield fingerprint(series.job, seed), series, seed

    def computed_head(self) -> str:
        """Return the head of what the registration holds, whatever it says its head is."""
        return _head(self.nonce, self.registered_at, self.configs, self.plugins, self.jobs)


def promise(
    configs: Sequence[Path], jobs: Iterable[tuple[dict[str, Any], int]], plugins: Iterable[str], *, now: datetime
) -> Registration:
    """Return the registration of some configs and of all jobs that they mean, in their order, each by its content and its seed.

    Raises:
        UsageError: when they mean a job twice.
    """
    read = tuple(Config(name=path.name, sha256=content_hash(path.read_bytes())) for path in configs)
    series = _in_series(jobs)
    nonce = secrets.token_hex(NONCE_BYTES)
    by, now = tuple(sorted({*plugins})), now.replace(microsecond=0)  # runs tell when they began by the second
    head = _head(nonce, now, read, by, series)
    made = Registration(head=head, registered_at=now, nonce=nonce, configs=read, plugins=by, jobs=series)
    seen: set[str] = set()
    for mark, one, seed in made.promised():
        if mark in seen:
            raise UsageError(
                f"These configs mean the same job twice: {words_of(one, seed)}.", hint="leave one of them out"
            )
        seen.add(mark)
    return made


def content_of(job: JobSpec, *, source: str) -> dict[str, Any]:
    """Return all that a job's measurements depend on but its seed, as JSON data; `source` is where its task's data come from.

    Left out is what changes no measurement, and what is drawn only when the run begins.
    """
    return job.model_dump(mode="json", exclude=set(NOT_PROMISED)) | {"source": source}


def fingerprint(content: dict[str, Any], seed: int) -> str:
    """Return what a job and its promise have in common."""
    return content_hash(canonical_json([content, seed]))


def words_of(series: Series, seed: int) -> str:
    """Return a job in words."""
    params = canonical_json(series.job["params"]).decode() if series.job.get("params") else ""
    return f"{series.job['task_id']} x {series.job['trainer_id']}{f' {params}' if params else ''} seed={seed}"


def write(registration: Registration, path: Path) -> None:
    """Write a registration to a file that is not there yet.

    Raises:
        UsageError: when it is there, or cannot be written.
    """
    try:
        put_new(path, (registration.model_dump_json(indent=1) + "\n").encode())
    except FileExistsError as err:
        raise UsageError(
            f"`{path}` is there already; a registration is never written twice.", hint="--to FILE"
        ) from err
    except OSError as err:
        raise UsageError(f"`{path}` cannot be written: {err.strerror or err}.", hint="--to FILE") from err


def read(path: Path) -> Registration:
    """Read a registration, and see that its head is that of what it holds.

    Raises:
        UsageError: when it cannot be read, is none, or was changed.
    """
    hint = "trace-bench preregister commit CONFIG --to FILE"
    try:
        found = Registration.model_validate_json(path.read_bytes())
    except OSError as err:
        raise UsageError(f"`{path}` cannot be read: {err.strerror or err}.", hint=hint) from err
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise UsageError(f"`{path}` is no registration: {where}: {first['msg']}.", hint=hint) from err
    if found.computed_head() != found.head:
        raise UsageError(f"`{path}` was changed: its jobs do not have the head that it tells, {found.head}.")
    return found


def _head(
    nonce: str,
    at: datetime,
    configs: Sequence[Config],
    plugins: Sequence[str],
    jobs: Sequence[Series],
) -> str:
    leaves: list[Any] = [["nonce", nonce], ["registered_at", at.isoformat()], ["plugins", [*plugins]]]
    leaves += [["config", config.name, config.sha256] for config in configs]
    leaves += [["job", series.job, seed] for series in jobs for seed in series.seeds]
    return head_of([canonical_json(leaf) for leaf in leaves])


def _in_series(jobs: Iterable[tuple[dict[str, Any], int]]) -> tuple[Series, ...]:
    found: list[tuple[dict[str, Any], list[int]]] = []
    for content, seed in jobs:
        if not found or found[-1][0] != content:
            found.append((content, []))
        found[-1][1].append(seed)
    return tuple(Series(job=content, seeds=tuple(seeds)) for content, seeds in found)
