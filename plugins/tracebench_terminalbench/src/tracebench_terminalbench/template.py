"""The prompt of Terminus-2: Harbor's frame with a block of advice in it, or a whole text that must still fill in."""

from __future__ import annotations

import string

PLACEHOLDERS = frozenset({"instruction", "terminal_state"})
HEADING = "Advice for this environment:"
_BEFORE = ("\nTask Description:", "{instruction}")


def with_advice(frame: str, advice: str) -> str:
    """Return the frame with the advice before the task's description; without advice, the frame itself.

    Braces in the advice are doubled, so that no advice can break the frame.
    """
    if not advice.strip():
        return frame
    block = f"\n{HEADING}\n{advice.strip()}\n".replace("{", "{{").replace("}", "}}")
    marker = next(mark for mark in _BEFORE if mark in frame)
    at = frame.index(marker)
    return f"{frame[:at]}{block}{frame[at:]}"


def template_problem(text: str) -> str:
    """Return why a whole template cannot be filled in, or nothing."""
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
        text.format(instruction="", terminal_state="")
    except (ValueError, KeyError, IndexError, AttributeError) as err:
        return f"the template cannot be filled in ({type(err).__name__}: {err}); write a literal brace as {{{{ or }}}}"
    if lacking := sorted(PLACEHOLDERS - set(fields)):
        return f"the template lacks {', '.join('{' + name + '}' for name in lacking)}"
    return ""
