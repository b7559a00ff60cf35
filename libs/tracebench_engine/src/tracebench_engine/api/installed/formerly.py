"""Names that are no longer offered, and what became of them: a plugin tells them in a file `formerly.json` beside its module."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeAlias

from tracebench_core.plugins import PluginHost

Subject: TypeAlias = Literal["task", "trainer", "optimizer", "guide", "logger", "setting"]
FILE = "formerly.json"


class Former(NamedTuple):
    """What a name of earlier configs stands for now."""

    now: str | None
    """The name of today; None where there is none, and what stands there goes."""
    settings: dict[str, Any]
    """Of a trainer: the settings that its old name meant."""
    why: str
    """A sentence for the user."""


def former_names(host: PluginHost) -> dict[tuple[Subject, str, str], Former]:
    """Return what installed plugins say of earlier names: by kind, owner (of a setting, else empty) and name."""
    found: dict[tuple[Subject, str, str], Former] = {}
    for record in host.records.values():
        if record.entry_point is None:
            continue
        try:
            told = json.loads((files(record.entry_point.module.partition(".")[0]) / FILE).read_text("utf-8"))
            for row in told:
                former = Former(row.get("now"), dict(row.get("settings", {})), str(row["why"]))
                found.setdefault((row["kind"], str(row.get("of", "")), str(row["name"])), former)
        except (ImportError, OSError, ValueError, TypeError, KeyError, AttributeError):
            continue
    return found
