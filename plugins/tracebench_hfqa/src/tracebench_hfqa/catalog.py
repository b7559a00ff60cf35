"""Entries as task specs: what listing, validating and planning show, without opening a row."""

from __future__ import annotations

from typing import Any

from tracebench_core.specs import Objective, Requirement, TaskSpec, TaskVersion
from tracebench_hfqa.entry import Entry
from tracebench_hfqa.families import find_family
from tracebench_hfqa.families.family import CONTENT
from tracebench_hfqa.loaders import TOKENS, attribute_of, named
from tracebench_hfqa.rows.opening import SAMPLE_LABEL
from tracebench_hfqa.rows.source import Settings
from tracebench_hfqa.state import find_entry, settings

LOADERS = "tracebench_hfqa.loaders"
SAMPLE_VERSIONS = 1000
"""Added to the comparability version of sample rows, so that their scores are never pooled with the data set's."""


def specs() -> list[TaskSpec]:
    """Return the specs of all declared tasks, and of those that weigh tokens."""
    plain = [_spec(name, find_entry(entry), subtask) for name, (entry, subtask) in named().items()]
    return [*plain, *(_token_spec(name, find_entry(entry), subtask) for name, (entry, subtask) in TOKENS.items())]


def _spec(name: str, entry: Entry, subtask: str | None) -> TaskSpec:
    return TaskSpec(
        name=name,
        groups=(entry.id,) if subtask else (),
        options="tracebench_hfqa.options:TaskOptions",
        metric=find_family(entry.family).metric,
        content=CONTENT if find_family(entry.family).read_as_answer else "",
        worst_score=0.0,
        target=1.0,
        aggregate=entry.aggregate,
        **_shared(name, entry, subtask),
    )


def _token_spec(name: str, entry: Entry, subtask: str | None) -> TaskSpec:
    shared = _shared(name, entry, subtask)
    return TaskSpec(
        name=name,
        aliases=(f"internal:{name}",),
        options="tracebench_hfqa.options:TokenOptions",
        metric="accuracy",
        objectives=(
            Objective(metric="accuracy", direction="maximize", weight=1.0),
            Objective(metric="tokens", direction="minimize", weight=0.001),
        ),
        worst_score=-1.0,
        **{**shared, "title": f"{shared['title']}: accuracy and tokens"},
    )


def _shared(name: str, entry: Entry, subtask: str | None) -> dict[str, Any]:
    told = settings()
    sample = told.kind == "sample" and not entry.shipped
    title = f"{entry.title or entry.id}{f', {subtask}' if subtask else ''}"
    return {
        "loader": f"{LOADERS}:{attribute_of(name)}",
        "title": f"{title} ({SAMPLE_LABEL})" if sample else title,
        "description": entry.description,
        "tags": ("question answering", entry.family, *(("sample",) if sample else ())),
        "version": TaskVersion(comparability=_version(entry, subtask) + SAMPLE_VERSIONS * sample),
        "sandbox": (),
        "uses_model": True,
        "requires": (*find_family(entry.family).requires, *(() if sample or entry.shipped else _requires(told))),
        "size_options": {"train": "num_train", "validation": "num_validate", "test": "num_test"},
        "sizes_of": f"{LOADERS}:{attribute_of(name, 'sizes')}",
        "licence": "MIT" if sample else entry.licence,
        "citation": entry.citation,
        "source": "comes with the plugin" if sample or entry.shipped else _origin(entry, told),
    }


def _version(entry: Entry, subtask: str | None) -> int:
    """Return the version of an entry's or a subtask's scores: what was raised for the task, and what for all of its family."""
    return entry.versions.get(subtask or "", entry.version) + find_family(entry.family).version - 1


def _requires(told: Settings) -> tuple[Requirement, ...]:
    if told.kind != "hub":
        return ()
    return (Requirement(kind="module", name="datasets", hint='pip install "tracebench-hfqa[datasets]"'),)


def _origin(entry: Entry, told: Settings) -> str:
    return (
        "a folder"
        if told.kind == "folder"
        else f"hub: {entry.dataset_id}{f'@{entry.revision}' if entry.revision else ''}"
    )
