"""The states of a job for people: initial, best and final values as YAML, and a history with one line per candidate."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tracebench_core import averages
from tracebench_core.specs import Values
from tracebench_core.specs.events import BestChanged, CandidateSeen, EvaluationDone, Event, Scored
from tracebench_runs.storage import files
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.layout import JobLayout
from tracebench_runs.storage.regular import read_whole

_SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml is ten times faster and not built everywhere


class _Dumper(_SafeDumper):  # type: ignore[misc,valid-type]  # the base is chosen at run time
    """Writes text of several lines as a block, the way people write it."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


@dataclass(slots=True)
class _Record:
    """What the events say of one candidate, as text: a job may have seen hundreds of thousands."""

    before: str
    """Its line of the history up to the score."""
    after: str
    """The rest of it, the values at its end."""
    archived: float | None = None
    results: dict[tuple[str, str], float | None] = field(default_factory=dict)
    """By split and example; None where there is no score."""

    @classmethod
    def of(cls, seen: CandidateSeen) -> _Record:
        """Take in a candidate."""
        before = {"step": seen.step, "candidate": seen.id}
        after = {"parents": seen.parents, "origin": seen.origin, "values": seen.values}
        return cls(_json(before).removesuffix("}"), _json(after).removeprefix("{"))

    @property
    def line(self) -> str:
        """Its line of the history."""
        return f'{self.before},"score":{_json(self.score)},{self.after}'

    @property
    def values(self) -> Values:
        """Its values; a long one as `{"blob": sha256}`."""
        values: Values = json.loads(self.line)["values"]
        return values

    @property
    def score(self) -> float | None:
        """The archive's score; else the mean over its examples, on validation where it met that split; else None."""
        if self.archived is not None:
            return self.archived
        for split in ("validation", "train"):
            scores = [score for (s, _), score in self.results.items() if s == split]
            if scores:
                known = [score for score in scores if score is not None]
                return averages.mean(known) if len(known) == len(scores) else None
        return None


class StateHistory:
    """The candidates of a job in the order in which they appeared, and which of them are initial, best and final."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.records: dict[str, _Record] = {}
        self.chosen: dict[str, str] = {}
        self._examples: dict[tuple[str, str], tuple[str, str]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case CandidateSeen():
                self.records.setdefault(event.id, _Record.of(event))
                self.chosen.setdefault("initial", event.id)
            case EvaluationDone() if event.candidate in self.records and event.by == "trainer":
                score = event.score if event.status == "ok" else None
                example = event.split, event.example
                self.records[event.candidate].results[self._examples.setdefault(example, example)] = score
            case BestChanged():
                self.chosen["best"] = event.candidate
                if event.candidate in self.records:
                    self.records[event.candidate].archived = event.score
            case Scored(what="initial" | "best" | "final"):
                self.chosen[event.what] = event.candidate


def write_history(layout: JobLayout, history: StateHistory, blobs: BlobStore) -> None:
    """Write a job's `artifacts/{initial,best,final}_state.yaml` and `state_history.jsonl`: see `state_files`.

    Not flushed, since they follow from the events: after a power cut `recovery.settle` writes them anew.
    """
    contents = state_files(layout, history, blobs)
    if contents:
        files.make_dir(layout.artifacts)
    for path, content in contents.items():
        files.write_whole(path, content)


def stale_states(layout: JobLayout, events: Iterable[Event], blobs: BlobStore) -> dict[Path, bytes]:
    """Return the state files that differ from what the events demand, with the content they should have.

    Raises:
        RunDirError: when a blob is missing.
    """
    wanted = state_files(layout, StateHistory(events), blobs)
    return {path: data for path, data in wanted.items() if not path.exists() or read_whole(path) != data}


def state_files(layout: JobLayout, history: StateHistory, blobs: BlobStore) -> dict[Path, bytes]:
    """Return the content of every state file of a job.

    A state file maps parameter names to values, in full. The final state is the one that the engine scored as final, else the last
    candidate seen. A job that saw no other candidate than its first has no state files: its events tell that one.

    Raises:
        RunDirError: when a blob is missing.
    """
    records = history.records
    if len(records) <= 1:
        return {}
    chosen = {"final": next(reversed(records)), **history.chosen}
    targets = {"initial": layout.initial_state, "best": layout.best_state, "final": layout.final_state}
    wanted = {path: chosen[what] for what, path in targets.items() if chosen.get(what) in records}
    texts = {candidate: yaml_text(blobs.expand(records[candidate].values)) for candidate in set(wanted.values())}
    contents = {path: texts[candidate] for path, candidate in wanted.items()}
    return contents | {layout.state_history: "".join(f"{record.line}\n" for record in records.values()).encode()}


def candidate_scores(events: Iterable[Event]) -> dict[str, float | None]:
    """Return every candidate's score by its id: the archive's, else the mean over its examples."""
    history = StateHistory(events)
    return {candidate: record.score for candidate, record in history.records.items()}


def yaml_text(values: Values) -> bytes:
    """Return values as YAML, text of several lines as blocks, keys in the order given."""
    text: str = yaml.dump(values, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=2**31 - 1)
    return text.encode("utf-8", "backslashreplace")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
