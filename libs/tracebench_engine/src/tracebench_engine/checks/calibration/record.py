"""What this user's machines saw of calibrations: a file for each task in the user's state folder, an entry for each machine and judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.plugins import PluginHost, load_ref
from tracebench_core.specs import Calibrated, CalibrationKind, CaseVerdict, Judge, Spec, TaskSpec
from tracebench_engine.checks.calibration.machine import Machine, judge_of, this_machine
from tracebench_engine.checks.calibration.verdicts import UNTOLD
from tracebench_runs.journal.keys import state_folder

TIMED_KINDS: tuple[CalibrationKind, ...] = ("ratio", "same")
"""What has to pass on a machine before a timed task is scored on it."""


class Entry(Spec):
    """What one machine saw of one task's cases, last."""

    task: str
    options: dict[str, Any]
    comparability: int
    machine: Machine
    judge: Judge
    stands_on: dict[str, str] | None = None
    """Versions of what the measurements stood on, by name; None where they were not kept."""
    made: AwareDatetime
    verdicts: tuple[CaseVerdict, ...]


_ENTRIES = TypeAdapter(list[Entry])


class Standing(NamedTuple):
    """Where a task's cases were measured, and what came of it."""

    place: Calibrated
    entry: Entry | None = None
    """The one that says so."""
    changed: str = ""
    """Why what was seen here before does not count any more: what it stood on is another one now."""

    def failing(self, kinds: Iterable[CalibrationKind] = ()) -> list[CaseVerdict]:
        """Return the verdicts, of some kinds or of all, that are neither passed nor skipped."""
        verdicts = () if self.entry is None else self.entry.verdicts
        chosen = {*kinds}
        return [v for v in verdicts if v.result in {"failed", "noisy"} and (not chosen or v.kind in chosen)]

    @property
    def calibrated(self) -> Calibrated:
        """Where the cases came out right, as far as they could be measured.

        Without a figure that is known there was no calibration: what is refused, and what a forgery does not gain, comes out right also
        where nothing can be measured.
        """
        return self.place if self._known() and not self.failing() else "never"

    def _known(self) -> bool:
        verdicts = () if self.entry is None else self.entry.verdicts
        return any(v.result == "passed" and v.kind not in UNTOLD for v in verdicts)

    @property
    def words(self) -> str:
        """The place, and how many cases passed there or did not."""
        if self.entry is None:
            return f"never calibrated{self.changed and ': '}{self.changed}"
        if not self.entry.verdicts:
            return "never calibrated: it offers no case"
        if not self._known() and not self.failing():
            return "never calibrated: no figure that is known was measured"
        where = self.place if self.place == "here" else f"elsewhere ({self.entry.machine.words})"
        failing, passed = self.failing(), sum(v.result == "passed" for v in self.entry.verdicts)
        told = (
            f"{len(failing)} of {len(self.entry.verdicts)} cases did not pass" if failing else f"{passed} cases passed"
        )
        return f"calibrated {where} on {self.entry.made:%Y-%m-%d}, {told}"


def keep(
    host: PluginHost, task_id: str, spec: TaskSpec, options: Mapping[str, Any], verdicts: Iterable[CaseVerdict]
) -> bool:
    """Keep what was seen; cases that were left out this time keep what was seen of them before. Return whether it could be written."""
    from tracebench_runs.storage.files import write_whole  # noqa: PLC0415 - whoever only reads needs none of it

    machine, judge, ground = this_machine(), judge_of(host, task_id, spec), ground_of(spec, options)
    entries = _read(_file(task_id, options))
    same = [e for e in entries if (e.machine.id, e.judge) == (machine.id, judge) and _stands(e, ground)]
    merged = {v.case: v for e in same for v in e.verdicts if e.comparability == spec.version.comparability}
    merged |= {v.case: v for v in verdicts}
    entry = Entry(
        task=task_id,
        options=dict(options),
        comparability=spec.version.comparability,
        machine=machine,
        judge=judge,
        stands_on=ground,
        made=datetime.now(UTC),
        verdicts=tuple(merged.values()),
    )
    others = [e for e in entries if e.machine.id != machine.id]
    try:
        _file(task_id, options).parent.mkdir(parents=True, exist_ok=True)
        write_whole(_file(task_id, options), _ENTRIES.dump_json([*others, entry], indent=1))
    except OSError:
        return False
    return True


def standing(host: PluginHost, task_id: str, spec: TaskSpec, options: Mapping[str, Any]) -> Standing:
    """Return where a task was calibrated with these options: what another judge, compiler or comparability saw does not count."""
    judge, machine, ground = judge_of(host, task_id, spec), this_machine(), ground_of(spec, options)
    fitting = [
        e for e in _read(_file(task_id, options)) if e.judge == judge and e.comparability == spec.version.comparability
    ]
    here = next((e for e in fitting if e.machine.id == machine.id), None)
    if here is not None and _stands(here, ground):
        return Standing("here", here)
    latest = max((e for e in fitting if _stands(e, ground)), key=lambda e: e.made, default=None)
    if latest is not None:
        return Standing("elsewhere", latest)
    return Standing("never", changed="" if here is None else _changed(here, ground))


def ground_of(spec: TaskSpec, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions of what a task's measurements stand on here, by name."""
    return {} if spec.stands_on is None else dict(load_ref(spec.stands_on, owner=spec.name)(dict(options)))


def _stands(entry: Entry, ground: Mapping[str, str]) -> bool:
    return (entry.stands_on or {}) == ground


def _changed(entry: Entry, ground: Mapping[str, str]) -> str:
    if entry.stands_on is None:
        return f"what was seen here on {entry.made:%Y-%m-%d} does not tell its versions of {', '.join(ground)}"
    then = {name: entry.stands_on.get(name, "none") for name in (*ground, *entry.stands_on)}
    told = [
        f"`{name}` {old}, which is {new} now" for name, old in then.items() if (new := ground.get(name, "none")) != old
    ]
    return f"what was seen here on {entry.made:%Y-%m-%d} was seen with {'; '.join(told)}"


def refusal_of(found: Standing) -> str:
    """Return why a timed task is not scored on this machine; nothing where its cases passed, or were not measured yet."""
    return "" if found.entry is None or found.place != "here" else why_refused(found.entry.verdicts)


def why_refused(verdicts: Iterable[CaseVerdict]) -> str:
    """Return which of the cases did not pass that a timed task has to pass; one that could not be measured has not."""
    missed = [verdict for verdict in verdicts if verdict.kind in TIMED_KINDS and verdict.result != "passed"]
    if not missed:
        return ""
    first = missed[0]
    shown = f"`{first.case}` ({first.kind}): expected {first.expected}, seen {first.seen}"
    why = f". {first.why}" if first.why else ""
    more = f"; {len(missed) - 1} more" if len(missed) > 1 else ""
    return f"its calibration did not pass on this machine: {shown}{why}{more}"


def _file(task_id: str, options: Mapping[str, Any]) -> Path:
    name = content_hash(canonical_json([task_id, dict(options)]))[:32]
    return state_folder() / "calibrations" / f"{name}.json"


def _read(file: Path) -> list[Entry]:
    try:
        return _ENTRIES.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return []
