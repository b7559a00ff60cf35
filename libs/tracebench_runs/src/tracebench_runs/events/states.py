"""The states of a job for people: initial, best and final values as YAML, and a history with one line per candidate."""

from __future__ import annotations

import json
import marshal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tracebench_core import averages
from tracebench_core.specs import Values
from tracebench_core.specs.events import BestChanged, CandidateSeen, EvaluationDone, Event, Scored
from tracebench_runs.events.many import Numbers, Shelf, Texts
from tracebench_runs.storage import files
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.layout import JobLayout
from tracebench_runs.storage.regular import read_whole

_SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml is ten times faster and not built everywhere

TOGETHER = 1000
"""So many lines of a history are written at a time."""


class _Dumper(_SafeDumper):  # type: ignore[misc,valid-type]  # the base is chosen at run time
    """Writes text of several lines as a block, the way people write it."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


@dataclass(slots=True)
class _Measured:
    """What the events say of one candidate's score."""

    archived: float | None = None
    results: dict[tuple[str, str], float | None] = field(default_factory=dict)
    """By split and example; None where there is no score."""

    def packed(self) -> bytes:
        """Return it as bytes, for `of`."""
        return marshal.dumps((self.archived, self.results))

    @classmethod
    def of(cls, packed: bytes) -> _Measured:
        """Return what was packed."""
        return cls(*marshal.loads(packed))  # noqa: S302 - bytes that were made here

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
        self.chosen: dict[str, str] = {}
        self._numbers = Numbers()
        self._texts = Texts()
        """Of each candidate its line of the history up to the score, a line's end, and the rest of it, its values last."""
        self._measured = Shelf(_Measured.packed, _Measured.of)
        for event in events:
            self.add(event)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, candidate: object) -> bool:
        return isinstance(candidate, str) and self._numbers.find(candidate) is not None

    def add(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case CandidateSeen():
                self._see(event)
            case EvaluationDone(by="trainer"):
                if (number := self._numbers.find(event.candidate)) is not None:
                    score = event.score if event.status == "ok" else None
                    self._measured.get(number).results[event.split, event.example] = score
            case BestChanged():
                self.chosen["best"] = event.candidate
                if (number := self._numbers.find(event.candidate)) is not None:
                    self._measured.get(number).archived = event.score
            case Scored(what="initial" | "best" | "final"):
                self.chosen[event.what] = event.candidate

    @property
    def last(self) -> str:
        """The candidate that appeared last."""
        return self._numbers.name(len(self._numbers) - 1)

    def values(self, candidate: str) -> Values:
        """Return the values of a candidate that appeared; a long one as `{"blob": sha256}`."""
        number = self._numbers.find(candidate)
        if number is None:
            raise KeyError(candidate)
        values: Values = json.loads(b"{" + self._texts[number].partition(b"\n")[2])["values"]
        return values

    def scores(self) -> Iterator[tuple[str, float | None]]:
        """Yield every candidate with its score."""
        for number, measured in enumerate(self._measured):
            yield self._numbers.name(number), measured.score

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the history, some thousand at a time."""
        together: list[bytes] = []
        for number, measured in enumerate(self._measured):
            before, _, after = self._texts[number].partition(b"\n")
            together.append(b'%b,"score":%b,%b\n' % (before, _json(measured.score).encode(), after))
            if len(together) == TOGETHER:
                yield b"".join(together)
                together.clear()
        yield b"".join(together)

    def _see(self, event: CandidateSeen) -> None:
        _, new = self._numbers.add(event.id)
        if not new:
            return
        before = {"step": event.step, "candidate": event.id}
        after = {"parents": event.parents, "origin": event.origin, "values": event.values}
        self._texts.append(f"{_json(before).removesuffix('}')}\n{_json(after).removeprefix('{')}".encode())
        self._measured.append(_Measured())
        self.chosen.setdefault("initial", event.id)


def write_history(layout: JobLayout, history: StateHistory, blobs: BlobStore) -> None:
    """Write a job's `artifacts/{initial,best,final}_state.yaml` and `state_history.jsonl`: see `state_files`.

    Not flushed, since they follow from the events: after a power cut `recovery.settle` writes them anew.
    """
    contents: dict[Path, bytes | Iterator[bytes]] = {**_chosen_files(layout, history, blobs)}
    if len(history) > 1:
        files.make_dir(layout.artifacts)
        contents[layout.state_history] = history.lines()
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
    whole = {layout.state_history: b"".join(history.lines())} if len(history) > 1 else {}
    return _chosen_files(layout, history, blobs) | whole


def _chosen_files(layout: JobLayout, history: StateHistory, blobs: BlobStore) -> dict[Path, bytes]:
    if len(history) <= 1:
        return {}
    chosen = {"final": history.last, **history.chosen}
    targets = {"initial": layout.initial_state, "best": layout.best_state, "final": layout.final_state}
    wanted = {path: chosen[what] for what, path in targets.items() if chosen.get(what, "") in history}
    texts = {candidate: yaml_text(blobs.expand(history.values(candidate))) for candidate in set(wanted.values())}
    return {path: texts[candidate] for path, candidate in wanted.items()}


def candidate_scores(events: Iterable[Event]) -> dict[str, float | None]:
    """Return every candidate's score by its id: the archive's, else the mean over its examples."""
    return dict(StateHistory(events).scores())


def yaml_text(values: Values) -> bytes:
    """Return values as YAML, text of several lines as blocks, keys in the order given."""
    text: str = yaml.dump(values, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=2**31 - 1)
    return text.encode("utf-8", "backslashreplace")


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
