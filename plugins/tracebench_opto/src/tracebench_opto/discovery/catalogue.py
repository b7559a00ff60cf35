"""The trainers of the installed opto with their verdicts: found and tried out once per state of its source, then remembered."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tracebench_opto.bridge import features
from tracebench_opto.discovery.process import ProgramFailed, TookTooLong, run
from tracebench_opto.discovery.records import UNTRIED, Discovered, FoundClass, Verdict
from tracebench_opto.discovery.vocabulary import ABSTRACT

log = logging.getLogger(__name__)

PREFIX = "opto:"
Effort = Literal["remember", "list", "try"]
"""How far to go: read what is remembered and start nothing, list the classes too, or also try out those that nobody tried."""
SECONDS_TO_SCAN = 60.0
SECONDS_TO_PROBE = 90.0
PROBES_AT_A_TIME = 2
_TOO_LONG: dict[Path, dict[str, Verdict]] = {}
"""By file of what is remembered, the classes that took too long since this process began: tried once a command, and again by the next."""
_PACKAGE = Path(__file__).parents[1]
_HERE = "tracebench_opto.discovery"


def discover(
    *,
    excluded: Collection[str] = (),
    only: str | None = None,
    effort: Effort = "try",
    opto: Path | None = None,
    cache: Path | None = None,
) -> list[Discovered]:
    """Return every trainer class of an opto, in order of id; nothing when it has no `opto.trainer`.

    Listing imports opto in another process (seconds); trying out takes up to `SECONDS_TO_PROBE` for a class. By `list`, a class that nobody
    tried is `untried`; by `remember` it is left out.

    Args:
        excluded: class names or ids that are not to be tried, over and above those that are abstract.
        only: the id or the identifier of a single class; the others are neither tried nor returned.
        effort: how far to go.
        opto: the package folder; the installed one when None.
        cache: a folder for what was found; `cache_folder()` when None.
    """
    folder = opto or features.location()
    if folder is None or not (folder / "trainer").is_dir():
        return []
    memory = _Memory((cache or cache_folder()) / f"{_state_of(folder)}.json")
    found = memory.found
    if found is None:
        found = [] if effort == "remember" else _scan(opto, memory)
    ids = _ids(found)
    found = [c for c in found if only in {None, c.identifier, ids[c.key]}]
    refused = {c.key: why for c in found if (why := _refusal(c, ids[c.key], excluded))}
    if effort == "try":
        _probe_missing([c for c in found if c.key not in refused and not c.unimportable], memory, opto)
    every = sorted((_verdict(c, ids[c.key], refused, memory) for c in found), key=lambda d: d.id)
    return [d for d in every if effort != "remember" or d.verdict.status != "untried"]


def cache_folder() -> Path:
    """Return `$TRACEBENCH_CACHE/opto`, else `trace-bench/opto` in the user's cache folder (XDG base directories)."""
    own = os.environ.get("TRACEBENCH_CACHE")
    if own:
        return Path(own).expanduser() / "opto"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "trace-bench" / "opto"


class _Memory:
    """What is known of one state of the source: a file, replaced whole. One that cannot be read or written is done without."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.found: list[FoundClass] | None = None
        self.verdicts: dict[str, Verdict] = {}
        self.passing = _TOO_LONG.setdefault(file.resolve(), {})
        """Verdicts that hold for this process alone."""
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            self.found = [FoundClass.model_validate(c) for c in known["found"]]
            self.verdicts = {k: Verdict.model_validate(v) for k, v in known["verdicts"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError):
            pass
        self.verdicts = self.passing | self.verdicts

    def keep(self) -> None:
        known = {
            "found": [c.model_dump(mode="json") for c in self.found or ()],
            "verdicts": {
                k: v.model_dump(mode="json") for k, v in sorted(self.verdicts.items()) if k not in self.passing
            },
        }
        temporary = self._file.with_suffix(f".{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(known), encoding="utf-8")
            temporary.replace(self._file)
        except OSError as err:
            log.info("cannot remember what opto offers: %s", err)


def _scan(opto: Path | None, memory: _Memory) -> list[FoundClass]:
    try:
        answer = json.loads(run(f"{_HERE}.scan", seconds=SECONDS_TO_SCAN, opto=opto))
    except ProgramFailed as err:
        log.warning("the trainers of opto cannot be listed: %s", err)
        return []
    memory.found = [FoundClass.model_validate(c) for c in answer]
    memory.keep()
    return memory.found


def _probe_missing(classes: Sequence[FoundClass], memory: _Memory, opto: Path | None) -> None:
    missing = [c for c in classes if c.key not in memory.verdicts]
    if not missing:
        return
    names = ", ".join(c.qualname for c in missing)
    log.warning(
        "trying out trainers of opto, once for this state of its source: %s; %g s each at most", names, SECONDS_TO_PROBE
    )
    with ThreadPoolExecutor(PROBES_AT_A_TIME) as pool:
        verdicts = pool.map(lambda c: _probe(c, memory, opto), missing)
        memory.verdicts.update(zip((c.key for c in missing), verdicts, strict=True))
    memory.keep()


def _probe(found: FoundClass, memory: _Memory, opto: Path | None) -> Verdict:
    try:
        return Verdict.model_validate_json(
            run(f"{_HERE}.probe", found.model_dump_json(), seconds=SECONDS_TO_PROBE, opto=opto)
        )
    except TookTooLong as err:
        memory.passing[found.key] = verdict = Verdict(status="broken", reason=str(err))
        return verdict
    except ProgramFailed as err:
        return Verdict(status="broken", reason=str(err))


def _verdict(found: FoundClass, id_: str, refused: dict[str, str], memory: _Memory) -> Discovered:
    if found.key in refused:
        verdict = Verdict(status="excluded", reason=refused[found.key])
    elif found.unimportable:
        verdict = Verdict(status="broken", reason=f"its module cannot be imported: {found.unimportable}")
    else:
        verdict = memory.verdicts.get(found.key, UNTRIED)
    return Discovered(id=id_, found=found, verdict=verdict)


def _refusal(found: FoundClass, id_: str, excluded: Collection[str]) -> str:
    if found.qualname in ABSTRACT:
        return ABSTRACT[found.qualname]
    if {id_, found.qualname, f"{PREFIX}{found.qualname}"} & set(excluded):
        return "excluded by the settings"
    return "abstract" if found.abstract else ""


def _ids(found: Sequence[FoundClass]) -> dict[str, str]:
    count = Counter(c.qualname for c in found)
    return {
        c.key: f"{PREFIX}{c.qualname}" if count[c.qualname] == 1 else f"{PREFIX}{c.module}.{c.qualname}" for c in found
    }


def _state_of(folder: Path) -> str:
    """Return a hash of opto's source, of ours, and of the interpreter's version: what a verdict depends on."""
    digest = hashlib.sha256(sys.version.encode())
    for file in _sources(folder):
        digest.update(file.as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for root in (folder, *(_PACKAGE / part for part in ("bridge", "discovery", "proposers"))):
        yield from sorted(root.rglob("*.py"))
