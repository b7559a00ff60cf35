"""Evaluates a candidate and a foreign evaluator in one sandboxed process, from copies of the files that the evaluator needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracebench_core.contracts import EvaluationFailed, Sandbox
from tracebench_core.specs import Feedback, Limits
from tracebench_llm4ad.adapters import runtime
from tracebench_llm4ad.adapters.runtime.together import MARK
from tracebench_llm4ad.adapters.tree import Found
from tracebench_llm4ad.heuristic import explain

RUNTIME = Path(runtime.__file__).parent
PACKAGE = "foreign"
"""The name of the runtime's copy."""
TREE = "tree"
"""The folder of copies inside the sandbox."""
CALL_MEMORY_MB = 4096


def evaluate_together(found: Found, order: Mapping[str, Any], *, sandbox: Sandbox, seconds: float) -> dict[str, Any]:
    """Return the report of a sandboxed process that holds candidate and evaluator. Nothing of it is trusted but its shape.

    Raises:
        EvaluationFailed: when the process ends without a report.
    """
    local, files = copies_for(found, order)
    files["order.json"] = json.dumps(local)
    limits = Limits(seconds=seconds, memory_mb=CALL_MEMORY_MB)
    outcome = sandbox.command([sys.executable, "-W", "ignore", "-m", f"{PACKAGE}.together"], files=files, limits=limits)
    printed = outcome.value["stdout"] if isinstance(outcome.value, dict) else ""
    lines = [line.removeprefix(MARK) for line in printed.splitlines() if line.startswith(MARK)]
    if outcome.status != "ok":
        raise EvaluationFailed(explain(outcome))
    if not lines:
        last = outcome.value["stderr"].strip().splitlines()[-1:]
        text = " ".join(["The evaluation ended without a report; the program may not end its process.", *last])
        raise EvaluationFailed(Feedback(score=0.0, status="error", text=text))
    return _checked(lines[-1])


def copies_for(found: Found, order: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return an order for use inside the sandbox, and by name the texts of the files that it needs there: the runtime's and the task's."""
    top = found.root
    files = {f"{PACKAGE}/{path.name}": path.read_text(encoding="utf-8") for path in RUNTIME.glob("*.py")}
    files |= {f"{TREE}/{path.relative_to(top).as_posix()}": text for path, text in _sources(found).items()}
    return {**order, "root": TREE, "folder": f"{TREE}/{found.folder.relative_to(top).as_posix()}"}, files


def _sources(found: Found) -> dict[Path, str]:
    """Return the text files of the task, of LLM4AD's base and of the tasks that it imports from."""
    folders = [found.folder, *(found.root.joinpath(*name.split(".")) for name in found.within)]
    if found.layout == "llm4ad":
        folders.append(found.root / "llm4ad" / "base")
    files: dict[Path, str] = {}
    for folder in folders:
        place = folder if folder.is_dir() else folder.parent
        for path in sorted(p for p in place.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            with suppress(UnicodeDecodeError):
                files[path] = path.read_text(encoding="utf-8")
    return files


def _checked(line: str) -> dict[str, Any]:
    """Return a report whose shape is right; it may still be forged, as may every score that is computed where a candidate runs."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        raw = None
    if isinstance(raw, dict):
        for key in ("refused", "error", "crashed", "broken"):
            if isinstance(raw.get(key), str):
                return {"error" if key == "broken" else key: raw[key][:2000]}
        if (
            _is_vector(raw.get("values"))
            and isinstance(raw.get("metrics"), dict)
            and _is_vector([*raw["metrics"].values(), 0])
        ):
            return {"values": raw["values"], "metrics": raw["metrics"], "text": str(raw.get("text", ""))[:4000]}
    return {"refused": "The evaluation printed a report of no known shape."}


def _is_vector(values: Any) -> bool:
    return (
        isinstance(values, list)
        and bool(values)
        and all(type(v) in {int, float} and abs(v) <= sys.float_info.max for v in values)
    )
