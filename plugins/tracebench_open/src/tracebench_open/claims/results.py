"""What was found of each claim, kept in a file: measured claim by claim, so that a run which was cut off goes on where it was."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

from tracebench_core.errors import TraceBenchError, UsageError, quoted
from tracebench_engine.api import load_ref
from tracebench_engine.api.console.writing import put
from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found
from tracebench_open.claims.register import Claim, Register
from tracebench_open.claims.trees import Trees, WrongError

KIND = "public-claims"
PLACES = 30
"""Digits that are kept of a figure that is exact."""


def repeat(
    register: Register,
    trees: Trees,
    cage: Cage,
    path: Path,
    *,
    only: tuple[str, ...],
    told: Callable[[Claim, Any], None],
) -> bool:
    """Measure each claim that a file does not hold under its rule yet, and keep it; return whether every file was the one that is pinned.

    Raises:
        UsageError: the file holds no results.
    """
    kept = _opened(path) if path.exists() else _begun()
    sound = True
    for claim in register.claim:
        mark, has = register.mark(claim), kept["claims"].get(claim.id, {})
        if (only and claim.id not in only) or (has.get("mark") == mark and "absent" not in has):
            continue
        try:
            measure: Callable[..., Found] = load_ref(f"{__package__}.{claim.how}", owner=claim.id)
            found = _plain(measure(trees, cage, **register.options_of(claim)))
        except (TraceBenchError, ValueError, KeyError) as err:
            sound = sound and not isinstance(err, WrongError)
            found = {"absent": str(err)}
        kept["claims"][claim.id] = {"mark": mark, **found}
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())
        told(claim, found)
    return sound


def read(path: Path, register: Register) -> dict[str, Any]:
    """Return what a file holds.

    Raises:
        UsageError: it cannot be read, or holds a figure of another rule: a rule that was changed after the fact judges nothing.
    """
    found = _opened(path)
    known = {claim.id: register.mark(claim) for claim in register.claim}
    for name, one in found["claims"].items():
        if known.get(name) != one["mark"]:
            raise UsageError(
                f"`{path}` holds a figure of `{name}` that was measured under another rule, with other files or by other code.",
                hint=f"trace-bench open-bench claims repeat --root FOLDER --only {name} --to {quoted(path)}",
            )
    return found


def _opened(path: Path) -> dict[str, Any]:
    hint = "trace-bench open-bench claims repeat --root FOLDER --to ANOTHER-FILE"
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
        if found["kind"] != KIND or not all("mark" in one for one in found["claims"].values()):
            raise ValueError("it is of another kind")
    except OSError as err:
        raise UsageError(f"`{path}` cannot be read: {err.strerror or err}.", hint=hint) from err
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise UsageError(f"`{path}` holds no results of claims: {err}.", hint=hint) from err
    return found


def found_of(kept: Mapping[str, Any]) -> Found:
    """Return what was found, from what is kept of it."""
    ends = [None if kept[name] is None else _number(kept[name]) for name in ("estimate", "low", "high")]
    return Found(ends[0] if ends[0] is not None else 0, ends[1], ends[2], told=kept["told"], rows=kept["rows"])


def _number(text: str) -> float | Fraction:
    return float(text) if text in {"inf", "-inf"} else Fraction(text)


def _plain(found: Found) -> dict[str, Any]:
    def digits(value: float | Fraction | None) -> str | None:
        if value is None or isinstance(value, float):
            return None if value is None else repr(value)
        with localcontext() as context:
            context.prec = PLACES
            return format(Decimal(value.numerator) / Decimal(value.denominator), "f")

    return {
        "estimate": digits(found.estimate),
        "low": digits(found.low),
        "high": digits(found.high),
        "told": [*found.told],
        "rows": [dict(row) for row in found.rows],
        "versions": dict(found.versions),
    }


def _begun() -> dict[str, Any]:
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return {
        "kind": KIND,
        "schema_version": 1,
        "machine": f"{os.cpu_count()} processors, {system}",
        "claims": {},
    }
