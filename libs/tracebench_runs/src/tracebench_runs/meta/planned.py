"""The jobs of a run as its manifest lists them: most differ from the one before in nothing but id and seed, and are built on demand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import NamedTuple, overload

from pydantic import ValidationError

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobSpec
from tracebench_runs.meta.manifest import iter_job_lines
from tracebench_runs.storage.layout import RunLayout

_BEFORE = b'{"job_id":"'


@dataclass(slots=True)
class Series:
    """Jobs that follow each other and are alike but for their ids and seeds."""

    like: JobSpec
    """The first of them."""
    ids: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    def job(self, index: int) -> JobSpec:
        """Return one of them."""
        return self.like.model_copy(update={"job_id": self.ids[index], "seed": self.seeds[index]})

    def jobs(self) -> Iterator[JobSpec]:
        """Yield all of them."""
        return map(self.job, range(len(self.ids)))


class PlannedJobs(Sequence[JobSpec]):
    """The jobs of a plan, in its order."""

    def __init__(self, series: Iterable[Series]) -> None:
        self.series = tuple(series)
        self._starts: list[int] = []
        self._length = 0
        for part in self.series:
            self._starts.append(self._length)
            self._length += len(part.ids)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[JobSpec]:
        for part in self.series:
            yield from part.jobs()

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence of jobs, as a tuple does with a tuple."""
        return isinstance(other, Sequence) and len(other) == len(self) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # equal to what has another hash

    @overload
    def __getitem__(self, index: int) -> JobSpec: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[JobSpec, ...]: ...
    def __getitem__(self, index: int | slice) -> JobSpec | tuple[JobSpec, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(self._length)))
        place = index + self._length if index < 0 else index
        if not 0 <= place < self._length:
            raise IndexError(index)
        which = bisect_right(self._starts, place) - 1
        return self.series[which].job(place - self._starts[which])

    def ids(self) -> Iterator[str]:
        """Yield the id of every job."""
        for part in self.series:
            yield from part.ids

    def chosen(self, is_wanted: Callable[[str], bool]) -> list[JobSpec]:
        """Return the jobs whose ids are wanted."""
        return [part.job(i) for part in self.series for i, job_id in enumerate(part.ids) if is_wanted(job_id)]


def series_of(jobs: Sequence[JobSpec]) -> Iterable[Series]:
    """Return jobs as series; those that are no stored plan's one by one."""
    return jobs.series if isinstance(jobs, PlannedJobs) else (Series(j, [j.job_id], [j.seed]) for j in jobs)


def kinds_of(jobs: Sequence[JobSpec]) -> Iterable[JobSpec]:
    """Return jobs that stand for all: every other one differs from one of them in nothing but its id and seed."""
    return (part.like for part in jobs.series) if isinstance(jobs, PlannedJobs) else jobs


def changed_kinds(jobs: Sequence[JobSpec], change: Callable[[JobSpec], JobSpec]) -> Sequence[JobSpec]:
    """Return jobs with what `change` makes of those that stand for all; it leaves id and seed alone."""
    if not isinstance(jobs, PlannedJobs):
        return tuple(map(change, jobs))
    return PlannedJobs(Series(change(part.like), part.ids, part.seeds) for part in jobs.series)


def ids_of(jobs: Sequence[JobSpec]) -> Iterator[str]:
    """Yield the id of every job."""
    return jobs.ids() if isinstance(jobs, PlannedJobs) else (job.job_id for job in jobs)


def chosen_of(jobs: Sequence[JobSpec], is_wanted: Callable[[str], bool]) -> list[JobSpec]:
    """Return the jobs whose ids are wanted."""
    return jobs.chosen(is_wanted) if isinstance(jobs, PlannedJobs) else [j for j in jobs if is_wanted(j.job_id)]


def read_jobs(layout: RunLayout) -> PlannedJobs:
    """Return every job of the manifest.

    A line that differs from the one before in nothing but its id and seed is not parsed: what makes it a job has been parsed with that one.

    Raises:
        RunDirError: when a job cannot be read.
    """
    return PlannedJobs(_series(layout))


def iter_jobs(layout: RunLayout) -> Iterator[JobSpec]:
    """Yield every job of the manifest, in plan order.

    Raises:
        RunDirError: when a job cannot be read.
    """
    for part in _series(layout):
        yield from part.jobs()


def _series(layout: RunLayout) -> Iterator[Series]:
    """Yield what a plan is made of: it has seeds innermost, so that one line at a time is compared with."""
    series: Series | None = None
    place = _Place(0, b"", b"")
    for line in iter_job_lines(layout):
        told = place.read(line) if series is not None else None
        if series is None or told is None:
            if series is not None:
                yield series
            job = _parsed(layout, line)
            place = _place_of(line, job)
            series = Series(job, [job.job_id], [job.seed])
        else:
            series.ids.append(told[0])
            series.seeds.append(told[1])
    if series is not None:
        yield series


class _Place(NamedTuple):
    """Where the lines of a series hold their ids and seeds."""

    start: int
    """Of what follows the id; 0 where no other line can be like this one."""
    between: bytes
    after: bytes

    def read(self, line: bytes) -> tuple[str, int] | None:
        """Return the id and the seed of a line of the series, None for a line that differs in something else."""
        start, between, after = self
        if not start or not (line.startswith(_BEFORE) and line.startswith(between, start) and line.endswith(after)):
            return None
        job_id, seed = line[len(_BEFORE) : start], line[start + len(between) : -len(after)]
        if not job_id.isalnum() or not seed.isdigit() or (seed.startswith(b"0") and seed != b"0"):
            return None
        return job_id.decode(), int(seed)


def _place_of(line: bytes, job: JobSpec) -> _Place:
    """Find a job's id and seed in its line, so that with others in their places it is the same job with those."""
    start = len(_BEFORE) + len(job.job_id)
    head, found, rest = line[start:].partition(b',"seed":%d,' % job.seed)
    place = _Place(start, head + b',"seed":', b"," + rest)
    other = job.model_copy(update={"job_id": "0" * len(job.job_id), "seed": job.seed + 1})
    swapped = b"%s%s%s%d%s" % (_BEFORE, other.job_id.encode(), place.between, other.seed, place.after)
    try:
        is_found = bool(found) and place.read(line) is not None and JobSpec.model_validate_json(swapped) == other
    except ValidationError:
        is_found = False
    return place if is_found else _Place(0, b"", b"")


def _parsed(layout: RunLayout, line: bytes) -> JobSpec:
    try:
        return JobSpec.model_validate_json(line)
    except ValidationError as err:
        raise RunDirError(f"`{layout.manifest}` holds a job that cannot be read: {line[:60]!r}…") from err
