"""What was said in a model call: prompt and reply, where the run was recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tracebench_core.errors import RunDirError, quoted
from tracebench_core.specs.events import LLMCall
from tracebench_engine.api.records import Blobs, RunLayout, iter_lines


def read_texts(layout: RunLayout, job_id: str, calls: Sequence[LLMCall], wanted: LLMCall) -> list[tuple[str, str]]:
    """Return the messages of a call as (who, text), the reply last; none when it was not recorded.

    Raises:
        RunDirError: when the recording lacks it or is damaged.
    """
    if not layout.calls.is_file() or not wanted.request_hash:
        return []
    same = [c for c in calls if (c.request_hash, c.role) == (wanted.request_hash, wanted.role)]
    line = _find(layout, job_id, wanted, at=same.index(wanted))
    if line is None:
        return []
    blobs = Blobs(layout.llm_blobs)
    try:
        asked = json.loads(blobs.get(str(line["request"])))
        said = [(str(m.get("role", "")), message_text(m)) for m in asked.get("messages", [])]
        if "reply" in line:
            said.append(("reply", message_text(json.loads(blobs.get(str(line["reply"]))).get("message", {}))))
        elif "error" in line:
            said.append(("error", str(line["error"].get("message", ""))))
    except (ValueError, AttributeError, KeyError) as err:
        raise RunDirError(
            f"the recording of the call cannot be read: {err}", hint=f"trace-bench fsck {quoted(layout.path)}"
        ) from err
    return said


def message_text(message: dict[str, Any]) -> str:
    """Return a message as text: its content, and whatever else it holds as JSON."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False) if content else ""
    rest = {k: v for k, v in message.items() if k not in {"role", "content"} and v}
    return text + (f"\n{json.dumps(rest, ensure_ascii=False, indent=1)}" if rest else "")


def _find(layout: RunLayout, job_id: str, wanted: LLMCall, *, at: int) -> dict[str, Any] | None:
    mark = wanted.request_hash.encode()
    found: dict[str, Any] | None = None
    for raw in iter_lines(layout.calls):
        if mark not in raw:
            continue
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if (line.get("job_id"), line.get("digest"), line.get("role")) == (job_id, wanted.request_hash, wanted.role):
            found = line
            if at == 0:
                return found
            at -= 1
    return found
