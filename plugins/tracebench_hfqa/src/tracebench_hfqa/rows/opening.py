"""Open a task's rows: read them from their source, turn them into examples, cut the splits."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracebench_core.errors import ConfigError
from tracebench_core.specs import Example, Split
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import Case, Fields, MissingGoldError, RowError
from tracebench_hfqa.rows import folder, hub
from tracebench_hfqa.rows.shapes import Row
from tracebench_hfqa.rows.source import Settings
from tracebench_hfqa.rows.splits import examples_of, once, question_hash, rows_hash, shares, shuffled

log = logging.getLogger(__name__)

SAMPLES = Path(__file__).parent.parent / "samples"
SAMPLE_LABEL = "sample rows, not the data set"
ORDER: tuple[Split, ...] = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Opened:
    """Examples by split, and where they come from."""

    splits: Mapping[Split, Sequence[Example]]
    provenance: Mapping[str, Any]


def open_rows(
    entry: Entry,
    *,
    subtask: str | None,
    sizes: Mapping[Split, int],
    seed: int,
    settings: Settings,
    held: frozenset[Split] = frozenset(ORDER),
) -> Opened:
    """Return the splits that this process may hold.

    No question stands in two splits: of rows that ask the same, whatever their case, spaces and answers, one file gives the first, and a
    test row whose question the train file asks too is left out of test. The provenance says how many rows each file lost so.

    Raises:
        ConfigError: naming file and row of what cannot be used, or the split that has no labels.
    """
    if entry.shipped:
        settings = replace(settings, kind="sample")
    train_split, test_split = entry.splits(subtask)
    one_file = train_split == test_split or settings.kind == "sample"
    known: dict[str, list[Example]] = {}
    places: dict[str, str] = {}
    left_out: dict[str, int] = {}

    def opened(split: str) -> list[Example]:
        if split not in known:
            cases, places[split] = _cases(entry, split, subtask=subtask, settings=settings)
            drawn = shuffled(examples_of(cases, label=split), seed=seed, label=split)
            known[split] = once(drawn)
            left_out[split] = len(cases) - len(known[split])
        return known[split]

    one_file = one_file or (
        settings.kind == "folder" and _same_files(entry, train_split, test_split, subtask, settings)
    )
    if one_file:
        rows = opened(train_split)
        parts = shares(len(rows), [sizes[s] for s in ORDER])
        cut = {s: rows[sum(parts[:i]) : sum(parts[: i + 1])] for i, s in enumerate(ORDER)}
    else:
        rows = opened(train_split)
        first, second = shares(len(rows), [sizes["train"], sizes["validation"]])
        cut = {"train": rows[:first], "validation": rows[first : first + second]}
        if "test" in held and sizes["test"]:
            fresh = once(opened(test_split), seen=set(map(question_hash, rows)))
            left_out[test_split] += len(opened(test_split)) - len(fresh)
            cut["test"] = fresh[: sizes["test"]]
    splits: dict[Split, Sequence[Example]] = {s: tuple(cut[s]) for s in ORDER if s in held and cut.get(s)}
    for split in ORDER:
        if split in held and sizes[split] and not splits.get(split):
            raise ConfigError(
                f"`hf:{entry.id}`: no row is left for {split}; {len(rows)} rows were found.", hint="ask for fewer rows"
            )
    return Opened(splits, _provenance("package" if entry.shipped else settings.kind, splits, places, left_out))


def _provenance(
    source: str, splits: Mapping[Split, Sequence[Example]], places: Mapping[str, str], left_out: Mapping[str, int]
) -> dict[str, Any]:
    told: dict[str, Any] = {"source": source, "revision": dict(places), "repeated": dict(left_out)}
    if source == "sample":
        told["label"] = SAMPLE_LABEL
    told["rows"] = {split: {"count": len(rows), "sha256": rows_hash(rows)} for split, rows in splits.items()}
    return told


def _same_files(entry: Entry, one: str, other: str, subtask: str | None, settings: Settings) -> bool:
    assert settings.folder is not None  # noqa: S101 - the kind says so
    return folder.files_for(settings.folder, entry, one, subtask=subtask) == folder.files_for(
        settings.folder, entry, other, subtask=subtask
    )


def _cases(entry: Entry, split: str, *, subtask: str | None, settings: Settings) -> tuple[list[Case], str]:
    """Return a split's cases, and what names its version: a commit, or the files' names."""
    if settings.kind == "hub":
        path, revision = hub.open_split(entry.of_subtask(subtask), split)
        return list(read_cases(entry, split, hub.read_kept(path), where=str(path))), revision
    if settings.kind == "folder":
        assert settings.folder is not None  # noqa: S101 - the kind says so
        files = folder.files_for(settings.folder, entry, split, subtask=subtask)
    else:
        name = f"{entry.dataset_id.rsplit('/', 1)[-1].lower()}{f'.{subtask}' if subtask else ''}.jsonl"
        files = [SAMPLES / name]
        if not files[0].is_file():
            raise ConfigError(
                f"`hf:{entry.id}` comes with no sample rows.", hint="export TRACEBENCH_HF_DATA=<folder with its data>"
            )
    cases = [case for file in files for case in read_cases(entry, split, folder.read_file(file), where=str(file))]
    return cases, ", ".join(file.name for file in files)


def read_cases(entry: Entry, split: str, rows: Iterable[Row], *, where: str) -> Iterator[Case]:
    """Yield the cases of rows; rows without a gold answer are left out, and counted in a warning.

    Raises:
        ConfigError: naming file and row of what cannot be used, or the split when no row has a gold answer.
    """
    family = find_family(entry.family)
    rows = list(rows)
    fields = _with_index_base(entry.fields, rows)
    unlabelled = ""
    read = 0
    for number, row in enumerate(rows, start=1):
        try:
            case = family.read(row, fields)
        except MissingGoldError as err:
            unlabelled = unlabelled or f"row {number} {err}"
            continue
        except RowError as err:
            raise ConfigError(
                f"`{where}`, row {number}: {err}.", hint=f"the columns are named in the task's entry, `hf:{entry.id}`"
            ) from err
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as err:
            raise ConfigError(
                f"`{where}`, row {number}: holds a column in a shape that is not known here ({type(err).__name__}: {err}).",
                hint=f"the columns are named in the task's entry, `hf:{entry.id}`",
            ) from err
        read += 1
        yield case
    if unlabelled and not read:
        raise ConfigError(
            f"`hf:{entry.id}`: the split `{split}` has no labels (`{where}`, {unlabelled}).",
            hint="name a labelled split as `test_split` in a task file of your own",
        )
    if unlabelled:
        log.warning(
            "`%s`: %d of %d rows have no gold answer and are left out; the first: %s",
            where,
            len(rows) - read,
            len(rows),
            unlabelled,
        )


def _with_index_base(fields: Fields, rows: Sequence[Row]) -> Fields:
    """Tell from all rows what indices count from: 0 exists only from 0, the number of options only from 1."""
    if fields.answer_index_base is not None or not fields.options:
        return fields
    pairs = [(row.get(fields.answer), row.get(fields.options)) for row in rows]
    indices = [
        (a, len(o)) for a, o in pairs if isinstance(a, int) and not isinstance(a, bool) and isinstance(o, list | tuple)
    ]
    from_one = any(a == size for a, size in indices) and not any(a == 0 for a, _ in indices)
    return replace(fields, answer_index_base=int(from_one))
